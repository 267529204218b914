"""The frames of Apicurio's own serializers: payloads and headers -> groups of one schema.

They are in a header of the record, or before the payload: the byte 0 and an id of 8 bytes. An id is
a globalId or a contentId, as the serializers were set; only headers say which.

Source: `DefaultIdHandler`, `DefaultHeadersHandler` and `AbstractKafkaDeserializer` of Apicurio
Registry 2.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from kafka_formats.arrow.arrays import bounds_of, data_of
from kafka_formats.schema_ids.frames import (
    Frames,
    Group,
    Longs,
    SchemaId,
    groups_of,
    ids_at,
    rows_of,
    why_unframed,
)
from kafka_formats.schema_ids.headers import last_values
from kafka_protocol.columnar.arrays.arrow_memory import is_valid

Kind: TypeAlias = Literal["globalId", "contentId"]
_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_MAGIC: Final = 0
_ID_BYTES: Final = 8
_FRAME_BYTES: Final = 1 + _ID_BYTES
# Ids are Java longs; the registry gives none below 0.
_MAX_ID: Final = 2**63 - 1
# Avro's JSON is another encoding.
_ENCODING: Final = b"BINARY"


def apicurio_frames(
    payloads: pa.BinaryArray, headers: pa.ListArray | None, header: str, *, kind: Kind
) -> Frames:
    """Find the frames of Apicurio's serializers.

    Args:
        payloads: Keys or values; null for a tombstone.
        headers: The headers of the records; None if there are none.
        header: The beginning of the names of the headers for these payloads. They count before any
            frame in the payload.
        kind: The kind of the ids. A header with another one names no schema.
    """
    is_left = is_valid(payloads)
    by_id: dict[SchemaId, list[int]] = {}
    broken: list[int] = []
    for row, schema_id in _in_headers(headers, header, kind).items():
        if is_left[row]:
            is_left[row] = False
            (broken if schema_id is None else by_id.setdefault(schema_id, [])).append(row)
    groups = [Group(schema_id, 0, rows_of(rows)) for schema_id, rows in by_id.items()]
    prefixed, without = _in_prefixes(payloads, np.flatnonzero(is_left))

    def why(payload: bytes) -> str:
        if _has_frame(payload):
            return f"its headers {header}* name no {kind}, or another encoding than BINARY"
        return f"{why_unframed(payload)}; nor is a {kind} in the header {header}{kind}"

    unframed = np.sort(np.concatenate([without, rows_of(broken)]))
    return Frames([*groups, *prefixed], unframed, why_unframed=why)


def _in_headers(headers: pa.ListArray | None, header: str, kind: Kind) -> dict[int, int | None]:
    """The ids of rows that have headers; None where they name no schema of the kind."""
    ids: dict[int, int | None] = {}
    for other in _KINDS:
        for row, value in last_values(headers, header + other).items():
            if other == kind:
                ids[row] = _id_in(value)
            else:
                ids.setdefault(row, None)
    for row, value in last_values(headers, f"{header}encoding").items():
        if value != _ENCODING:
            ids[row] = None
    return ids


def _id_in(value: bytes) -> int | None:
    schema_id = int.from_bytes(value, "big")
    return schema_id if len(value) == _ID_BYTES and schema_id <= _MAX_ID else None


def _has_frame(payload: bytes) -> bool:
    return payload[:1] == bytes([_MAGIC]) and _id_in(payload[1:_FRAME_BYTES]) is not None


def _in_prefixes(payloads: pa.BinaryArray, rows: Longs) -> tuple[list[Group], Longs]:
    bounds, view = bounds_of(payloads), data_of(payloads)
    at, length = bounds[rows], bounds[rows + 1] - bounds[rows]
    has_id = length >= _FRAME_BYTES
    starts = at[has_id]
    has_id[has_id] = (view[starts] == _MAGIC) & (view[starts + 1] <= _MAX_ID >> 56)
    ids = ids_at(view, ">u8", at[has_id] + 1)
    return groups_of(ids, rows[has_id], _FRAME_BYTES), rows[~has_id]
