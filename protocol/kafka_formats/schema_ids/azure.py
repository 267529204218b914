"""The frames of Azure's Avro serializers: payloads and headers -> groups of one schema.

The header `content-type` is `avro/binary+` and 32 hexadecimal digits. Previews wrote 4 bytes of 0
and the digits before the payload.

Source: `SchemaRegistryApacheAvroSerializer` and `KafkaAvroDeserializer` of Azure's SDK for Java.
"""

from __future__ import annotations

import re
import uuid
from typing import Final

import numpy as np
import pyarrow as pa

from kafka_formats.schema_ids.frames import Frames, Group, SchemaId, rows_of, why_unframed
from kafka_formats.schema_ids.headers import last_values
from kafka_protocol.columnar.arrays.arrow_memory import is_valid

_IN_HEADER: Final = re.compile(rb"avro/binary\+([0-9a-fA-F]{32})")
_IN_PREFIX: Final = re.compile(rb"\0{4}([0-9a-fA-F]{32})")
_PREFIX_BYTES: Final = 36


def azure_frames(payloads: pa.BinaryArray, headers: pa.ListArray | None, header: str) -> Frames:
    """Find the frames of Azure's serializers.

    Args:
        payloads: Values; null for a tombstone.
        headers: The headers of the records; None if there are none.
        header: The name of the header. It counts before any frame in the payload.
    """
    in_headers = last_values(headers, header)
    by_frame: dict[tuple[SchemaId, int], list[int]] = {}
    broken: list[int] = []
    for row in np.flatnonzero(is_valid(payloads)).tolist():
        value = in_headers.get(row)
        if value is None:
            size, match = _PREFIX_BYTES, _IN_PREFIX.match(payloads[row].as_py())
        else:
            size, match = 0, _IN_HEADER.fullmatch(value)
        if match is None:
            broken.append(row)
        else:
            schema_id = uuid.UUID(hex=match[1].decode("ascii"))
            by_frame.setdefault((schema_id, size), []).append(row)
    groups = [Group(*frame, rows_of(rows)) for frame, rows in by_frame.items()]

    def why(payload: bytes) -> str:
        if _IN_PREFIX.match(payload):
            return f"its header {header} is not avro/binary+ and 32 hexadecimal digits"
        return f"{why_unframed(payload)}; nor is an id of Azure's in the header {header}"

    return Frames(groups, rows_of(broken), why_unframed=why)
