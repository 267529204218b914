"""The frames of Confluent's serializers: payloads and headers -> groups of one schema.

They are before the payload (magic byte 0 and an id of 4 bytes, or magic byte 1 and a GUID), or in a
header of the record.

Source: Confluent's `SchemaId`, `DualSchemaIdDeserializer` and "Wire format".
"""

from __future__ import annotations

import uuid
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_formats.arrow.arrays import bounds_of
from kafka_formats.schema_ids.frames import (
    Frames,
    Group,
    InHeader,
    Longs,
    SchemaId,
    groups_of,
    ids_at,
    rows_of,
    why_unframed,
)
from kafka_formats.schema_ids.headers import last_values
from kafka_protocol.columnar.arrays.arrow_memory import is_valid

_ID_MAGIC: Final = 0
_GUID_MAGIC: Final = 1
_ID_BYTES: Final = 5
_GUID_BYTES: Final = 17
# Ids are Java ints; registries give none below 0.
_MAX_ID: Final = 2**31 - 1


def id_frame(schema_id: int) -> bytes:
    """The frame of Confluent's serializers: a magic byte and the id of the schema."""
    return bytes([_ID_MAGIC]) + schema_id.to_bytes(4, "big")


def confluent_frames(payloads: pa.BinaryArray, headers: pa.ListArray | None, header: str) -> Frames:
    """Find the frames of Confluent's serializers.

    Args:
        payloads: Keys or values; null for a tombstone.
        headers: The headers of the records; None if there are none.
        header: The name of the header for these payloads. The last one of a record counts, before
            any frame in its payload.
    """
    valid = is_valid(payloads)
    by_id, unframed, has_header = _in_headers(headers, header, valid)
    groups = [Group(schema_id, 0, rows_of(rows)) for schema_id, rows in by_id.items()]
    prefixed, without = _in_prefixes(payloads, np.flatnonzero(valid & ~has_header))
    broken = np.sort(np.concatenate([without, rows_of(unframed)]))
    return Frames([*groups, *prefixed], broken, why_unframed=why_no_confluent_frame)


def why_no_confluent_frame(payload: bytes) -> str:
    """Why a payload has no frame of Confluent's, or one with an id that no schema can have."""
    if len(payload) < _ID_BYTES or payload[0] != _ID_MAGIC:
        return why_unframed(payload)
    schema_id = int.from_bytes(payload[1:_ID_BYTES], "big")
    return (
        f"it has no schema id: the bytes 1 to 4 are {schema_id}, but ids are at most "
        f"{_MAX_ID}; was it written without a schema registry?"
    )


def _in_prefixes(payloads: pa.BinaryArray, rows: Longs) -> tuple[list[Group], Longs]:
    bounds = bounds_of(payloads)
    view = np.frombuffer(payloads.buffers()[2] or b"", dtype=np.uint8)
    at, length = bounds[rows], bounds[rows + 1] - bounds[rows]
    magic = np.full(len(rows), -1)
    magic[length > 0] = view[at[length > 0]]
    has_id = (magic == _ID_MAGIC) & (length >= _ID_BYTES)
    has_id[has_id] = view[at[has_id] + 1] <= _MAX_ID >> 24
    has_guid = (magic == _GUID_MAGIC) & (length >= _GUID_BYTES)
    groups = groups_of(ids_at(view, ">u4", at[has_id] + 1), rows[has_id], _ID_BYTES)
    if has_guid.any():
        groups += _by_guid(view, at[has_guid], rows[has_guid])
    return groups, rows[~(has_id | has_guid)]


def _by_guid(view: npt.NDArray[np.uint8], at: Longs, rows: Longs) -> list[Group]:
    by_guid: dict[bytes, list[int]] = {}
    for start, row in zip(at.tolist(), rows.tolist(), strict=True):
        by_guid.setdefault(view[start + 1 : start + _GUID_BYTES].tobytes(), []).append(row)
    return [
        Group(uuid.UUID(bytes=guid), _GUID_BYTES, rows_of(group)) for guid, group in by_guid.items()
    ]


def _in_headers(
    headers: pa.ListArray | None, header: str, is_wanted: npt.NDArray[np.bool_]
) -> tuple[dict[SchemaId, list[int]], list[int], npt.NDArray[np.bool_]]:
    """Rows by the id in their header, rows whose header has no id, and which have a header."""
    has_header = np.zeros(len(is_wanted), dtype=np.bool_)
    by_id: dict[SchemaId, list[int]] = {}
    without: list[int] = []
    for row, value in last_values(headers, header).items():
        if is_wanted[row]:
            has_header[row] = True
            schema_id = _id_in_header(value)
            (without if schema_id is None else by_id.setdefault(schema_id, [])).append(row)
    return by_id, without, has_header


def _id_in_header(value: bytes) -> SchemaId:
    magic = value[0] if value else None
    if magic == _ID_MAGIC and len(value) >= _ID_BYTES:
        schema_id = int.from_bytes(value[1:_ID_BYTES], "big")
        return _with_suffix(schema_id, value[_ID_BYTES:]) if schema_id <= _MAX_ID else None
    if magic == _GUID_MAGIC and len(value) >= _GUID_BYTES:
        return _with_suffix(uuid.UUID(bytes=value[1:_GUID_BYTES]), value[_GUID_BYTES:])
    return None


def _with_suffix(schema_id: int | uuid.UUID, suffix: bytes) -> SchemaId:
    return InHeader(schema_id, suffix) if suffix else schema_id
