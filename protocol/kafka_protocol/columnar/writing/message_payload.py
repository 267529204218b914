"""Columns -> message sets (magic 0 and 1), for brokers below 0.11.

Offsets are 0, 1, 2, ... in both magics; the broker replaces them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_protocol.columnar.arrays.headers import header_counts
from kafka_protocol.columnar.arrays.slices import lengths
from kafka_protocol.columnar.arrays.varints import Bytes, Longs
from kafka_protocol.columnar.writing.columns import Encoder, RecordColumns
from kafka_protocol.columnar.writing.joining import Field, JoinedRecords, join_fields
from kafka_protocol.errors import EncodeError
from kafka_protocol.records.compression import Compression, CompressionCodec
from kafka_protocol.records.message import wrap_messages
from kafka_protocol.records.message_set import CRC_AT, LOG_OVERHEAD, MAGIC_AT

_TIMESTAMP: Final = [("timestamp", ">i8")]
# The fields before the key, by magic.
_FRONT: Final = tuple(
    np.dtype(
        [
            ("offset", ">i8"),
            ("size", ">i4"),
            ("crc", ">u4"),
            ("magic", "i1"),
            ("attributes", "i1"),
            *timestamp,
            ("key_length", ">i4"),
        ]
    )
    for timestamp in ([], _TIMESTAMP)
)
_LENGTH: Final = np.dtype(">i4")


def message_encoder(
    records: RecordColumns, rows: Longs, compression: Compression, magic: int
) -> Encoder:
    """An encoder of message sets: plain messages, or one wrapper if they are compressed.

    Raises:
        EncodeError: The format has no headers, or no zstd.
    """
    codec = compression.codec
    _check_format(records, codec, magic)
    key_length, value_length = lengths(records.key)[rows], lengths(records.value)[rows]
    sizes = (
        _FRONT[magic].itemsize
        + np.maximum(key_length, 0)
        + _LENGTH.itemsize
        + np.maximum(value_length, 0)
    )

    def encode(starts: Longs) -> Iterator[bytes]:
        number = np.arange(len(rows))
        timestamp = records.timestamp[rows]
        front = np.zeros(len(rows), dtype=_FRONT[magic])
        front["offset"] = number - np.repeat(starts[:-1], np.diff(starts))
        front["size"] = sizes - LOG_OVERHEAD
        front["magic"] = magic
        front["key_length"] = key_length
        if magic:
            front["timestamp"] = timestamp
        messages = join_fields(
            len(rows),
            [
                Field(_as_binary(front), number),
                Field(records.key, rows),
                Field(_as_binary(value_length.astype(_LENGTH)), number),
                Field(records.value, rows),
            ],
        )
        data = _with_crcs(messages)
        for start, stop in pairwise(starts.tolist()):
            plain = data[messages.starts[start] : messages.starts[stop]].tobytes()
            if codec is CompressionCodec.NONE:
                yield plain
            else:
                newest = int(timestamp[start:stop].max())
                yield wrap_messages(plain, compression, magic, stop - start - 1, newest)

    return Encoder(sizes, encode)


def _check_format(records: RecordColumns, codec: CompressionCodec, magic: int) -> None:
    if codec is CompressionCodec.ZSTD:
        raise EncodeError(
            f"zstd cannot be written in message format {magic}, the newest that the broker "
            "supports; choose another compression, or use Kafka 2.1 or newer (KIP-110)"
        )
    headers = records.headers
    if headers is not None and header_counts(headers).any():
        raise EncodeError(
            f"record headers cannot be written in message format {magic}, the newest that the "
            "broker supports; leave them out, or use Kafka 0.11 or newer (KIP-82)"
        )


def _as_binary(rows: npt.NDArray[Any]) -> pa.Array:
    """A binary array of the bytes of each element."""
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(rows.itemsize)
    return pa.Array.from_buffers(
        pa.binary(), len(rows), [None, pa.py_buffer(offsets), pa.py_buffer(rows)]
    )


def _with_crcs(messages: JoinedRecords) -> Bytes:
    """The messages with their checksums; each covers the bytes after it."""
    data: Bytes = np.frombuffer(messages.data, dtype=np.uint8).copy()
    crcs = [
        zlib.crc32(data[start + MAGIC_AT : end].data)
        for start, end in pairwise(messages.starts.tolist())
    ]
    data[messages.starts[:-1, None] + np.arange(CRC_AT, MAGIC_AT)] = (
        np.array(crcs, dtype=">u4").view(np.uint8).reshape(-1, 4)
    )
    return data
