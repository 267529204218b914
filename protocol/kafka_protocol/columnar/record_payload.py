"""Columns -> record batches of magic 2."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_protocol.columnar.headers import encode_headers
from kafka_protocol.columnar.slices import lengths, varint_array
from kafka_protocol.columnar.varints import Longs, varint_sizes
from kafka_protocol.columnar.writing import Encoder, RecordColumns, joined_bytes
from kafka_protocol.records.batch import BatchContents, build_batch
from kafka_protocol.records.compression import Compression, compress

# Attributes, and the varints of a record at their longest: length, timestamp, offset, two lengths.
_MAX_OVERHEAD: Final = 1 + 5 + 10 + 5 + 5 + 5


def record_encoder(records: RecordColumns, compression: Compression, _magic: int) -> Encoder:
    """A writer of record batches.

    Raises:
        EncodeError: A header has no key.
    """
    tail = None if records.headers is None else encode_headers(records.headers)
    key_length, value_length = lengths(records.key), lengths(records.value)
    tail_length = np.ones_like(key_length) if tail is None else lengths(tail)

    def encode(rows: slice) -> bytes:
        timestamp = records.timestamp[rows]
        payload = _payload(
            records.key[rows],
            records.value[rows],
            b"\x00" if tail is None else tail[rows],
            _Numbers(
                timestamp - timestamp[0], key_length[rows], value_length[rows], tail_length[rows]
            ),
        )
        return build_batch(
            BatchContents(
                payload=compress(compression.codec, payload, compression.level),
                codec=compression.codec,
                records_count=len(timestamp),
                base_timestamp=int(timestamp[0]),
                max_timestamp=int(timestamp.max()),
            )
        )

    most = np.maximum(key_length, 0) + np.maximum(value_length, 0) + tail_length + _MAX_OVERHEAD
    return Encoder(most, encode)


class _Numbers(NamedTuple):
    """What is written as varints, one row a record; -1 for a null's length."""

    timestamp_delta: Longs
    key_length: Longs
    value_length: Longs
    tail_length: Longs


def _payload(
    key: pa.Array, value: pa.Array, tail: pa.Array | bytes, numbers: _Numbers
) -> memoryview:
    count = len(numbers.key_length)
    offset_delta = np.arange(count, dtype=np.int64)
    body_length = (
        1  # attributes
        + varint_sizes(numbers.timestamp_delta)
        + varint_sizes(offset_delta)
        + varint_sizes(numbers.key_length)
        + np.maximum(numbers.key_length, 0)
        + varint_sizes(numbers.value_length)
        + np.maximum(numbers.value_length, 0)
        + numbers.tail_length
    )
    # The attributes byte is 0, which is the varint 0 as well.
    attributes = np.zeros(count, dtype=np.int64)
    return joined_bytes(
        pc.binary_join_element_wise(
            varint_array(
                body_length, attributes, numbers.timestamp_delta, offset_delta, numbers.key_length
            ),
            pc.fill_null(key, b""),
            varint_array(numbers.value_length),
            pc.fill_null(value, b""),
            tail,
            b"",
        )
    )
