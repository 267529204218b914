"""The frames of AWS Glue's serializers: payloads -> groups of one schema, uncompressed.

A header of 18 bytes: a version (3), the compression (0: not compressed, 5: zlib), and the UUID of
the version of the schema. Payloads are hostile: each unpacks to a limited size, and so do all that
are unpacked together.

Source: `GlueSchemaRegistryDeserializerDataParser` of awslabs/aws-glue-schema-registry.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_formats.arrow.arrays import bounds_of, data_of
from kafka_formats.errors import PayloadError
from kafka_formats.schema_ids.frames import Frames, GlueVersion, Group, Longs
from kafka_protocol.columnar.arrays.arrow_memory import is_valid
from kafka_protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES

HEADER_BYTES: Final = 18
# The limit for one payload, and for several that are unpacked together.
MAX_UNPACKED_BYTES: Final = DEFAULT_MAX_DECOMPRESSED_BYTES
_VERSION: Final = 3
_PLAIN: Final = 0
_ZLIB: Final = 5
_UUID: Final = slice(2, HEADER_BYTES)
# Zlib cannot make more of a byte: 258 bytes of two bits.
_MAX_RATIO: Final = 1032


def glue_frames(payloads: pa.BinaryArray, _headers: pa.ListArray | None, _header: str) -> Frames:
    """Find the frames, and unpack payloads that are compressed."""
    rows = np.flatnonzero(is_valid(payloads))
    version, compression, length = _header_bytes(payloads, rows)
    is_framed = (length >= HEADER_BYTES) & (version == _VERSION)
    is_framed &= (compression == _PLAIN) | (compression == _ZLIB)
    is_packed = is_framed & (compression == _ZLIB)
    unpacked = None
    if is_packed.any():
        unpacked, failed = _unpacked(payloads, rows[is_packed])
        is_framed &= ~np.isin(rows, failed)
    groups = _by_version(payloads, rows[is_framed])
    return Frames(groups, rows[~is_framed], unpacked, why_no_glue_frame)


def why_no_glue_frame(payload: bytes) -> str:
    """Why a payload has no frame of Glue's, or does not unpack."""
    if len(payload) < HEADER_BYTES:
        return f"it has {len(payload)} bytes, and the header of AWS Glue alone has {HEADER_BYTES}"
    if payload[0] != _VERSION:
        return f"it begins with the byte {payload[0]}, and the header of AWS Glue with {_VERSION}"
    if payload[1] not in {_PLAIN, _ZLIB}:
        return f"its header of AWS Glue has the unknown compression {payload[1]}"
    try:
        unpack(payload[HEADER_BYTES:], MAX_UNPACKED_BYTES)
    except PayloadError as error:
        return f"(schema version {uuid.UUID(bytes=payload[_UUID])}) {error.reason}"
    raise AssertionError("the payload has a frame")


def unpack(data: bytes, max_bytes: int) -> bytes:
    """Unpack zlib's bytes, to `max_bytes` at most.

    Raises:
        PayloadError: They are damaged or incomplete, others follow, or they unpack to more.
    """
    unpacker = zlib.decompressobj()
    try:
        unpacked = unpacker.decompress(data, max_bytes + 1)
    except zlib.error as error:
        raise PayloadError("", f"its zlib data is damaged: {error}") from None
    if len(unpacked) > max_bytes:
        raise PayloadError("", f"it unpacks to more than {max_bytes} bytes")
    if not unpacker.eof:
        raise PayloadError("", "its zlib data is cut short")
    if unpacker.unused_data:
        raise PayloadError("", f"{len(unpacker.unused_data)} bytes follow its zlib data")
    return unpacked


def glue_splits(payloads: pa.BinaryArray) -> Sequence[int]:
    """Where to split payloads, so that a piece of several unpacks to a limited size."""
    rows = np.flatnonzero(is_valid(payloads))
    _, compression, length = _header_bytes(payloads, rows)
    size = np.zeros(len(payloads), dtype=np.int64)
    size[rows] = np.where(compression == _ZLIB, length * _MAX_RATIO, length)
    total = np.cumsum(size)
    splits: list[int] = []
    start = begun = 0
    while True:
        end = max(int(np.searchsorted(total, begun + MAX_UNPACKED_BYTES, side="right")), start + 1)
        if end >= len(payloads):
            return splits
        splits.append(end)
        start, begun = end, int(total[end - 1])


def _header_bytes(
    payloads: pa.BinaryArray, rows: Longs
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Longs]:
    """Version, compression and length of payloads; -1 for a byte that a payload does not have."""
    bounds, data = bounds_of(payloads), data_of(payloads)
    at, length = bounds[rows], bounds[rows + 1] - bounds[rows]
    version, compression = (
        np.where(length > place, data.take(at + place, mode="clip").astype(np.int64), -1)
        for place in (0, 1)
    )
    return version, compression, length


def _unpacked(payloads: pa.BinaryArray, rows: Longs) -> tuple[pa.BinaryArray, list[int]]:
    """Payloads with some of them unpacked, their headers kept; and rows that do not unpack."""
    unpacked: list[bytes | None] = payloads.to_pylist()
    failed = []
    for row in rows.tolist():
        payload = unpacked[row] or b""
        try:
            data = unpack(payload[HEADER_BYTES:], MAX_UNPACKED_BYTES)
            unpacked[row] = payload[:HEADER_BYTES] + data
        except PayloadError:
            failed.append(row)
    return pa.array(unpacked, pa.binary()), failed


def _by_version(payloads: pa.BinaryArray, rows: Longs) -> list[Group]:
    if not len(rows):
        return []
    at = bounds_of(payloads)[rows]
    ids = np.ascontiguousarray(data_of(payloads)[at[:, None] + np.arange(2, HEADER_BYTES)])
    if (ids == ids[0]).all():
        return [_group(ids[0], rows)]
    _, first, place = np.unique(ids.view("V16").ravel(), return_index=True, return_inverse=True)
    return [_group(ids[row], rows[place == number]) for number, row in enumerate(first)]


def _group(version_id: npt.NDArray[np.uint8], rows: Longs) -> Group:
    return Group(GlueVersion(uuid.UUID(bytes=version_id.tobytes())), HEADER_BYTES, rows)
