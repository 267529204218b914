"""Arrow columns -> record batches for one partition.

How: the numbers in front of and between key, value and headers are written by numpy for all
records at once; one `binary_join_element_wise` then lays the whole payload of a batch out in C++.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_protocol.columnar.headers import encode_headers
from kafka_protocol.columnar.slices import lengths, varint_array
from kafka_protocol.columnar.varints import Longs, varint_sizes
from kafka_protocol.records.batch import BatchContents, build_batch
from kafka_protocol.records.compression import CompressionCodec, compress

# Java's and the broker's max.message.bytes is 1,048,588; stay below it with the header.
DEFAULT_MAX_BATCH_BYTES: Final = 1_000_000
# Attributes, and the varints of a record at their longest: length, timestamp, offset, two lengths.
_MAX_OVERHEAD: Final = 1 + 5 + 10 + 5 + 5 + 5


class RecordColumns(NamedTuple):
    """Records of one partition, in order. `key`, `value`: binary; `timestamp`: ms, int64."""

    key: pa.Array
    value: pa.Array
    timestamp: Longs
    headers: pa.Array | None = None  # list<struct<key: string, value: binary>>


class EncodedBatch(NamedTuple):
    """A batch to produce, and how many records stand in it."""

    data: bytes
    records_count: int


def encode_batches(
    records: RecordColumns,
    codec: CompressionCodec,
    max_batch_bytes: int = DEFAULT_MAX_BATCH_BYTES,
) -> Iterator[EncodedBatch]:
    """Write records as batches.

    Args:
        records: At least one record.
        codec: How to compress each batch.
        max_batch_bytes: How large a batch may become before compression; one record that is
            larger gets a batch of its own.

    Raises:
        EncodeError: A header has no key.
    """
    tail = None if records.headers is None else encode_headers(records.headers)
    key_length, value_length = lengths(records.key), lengths(records.value)
    tail_length = np.ones_like(key_length) if tail is None else lengths(tail)
    most = np.maximum(key_length, 0) + np.maximum(value_length, 0) + tail_length + _MAX_OVERHEAD
    ends = np.cumsum(most)
    start = 0
    while start < len(ends):
        begun = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, begun + max_batch_bytes, side="right"))
        stop = max(stop, start + 1)
        rows = slice(start, stop)
        payload = _payload(
            records.key[rows],
            records.value[rows],
            b"\x00" if tail is None else tail[rows],
            _Numbers(
                records.timestamp[rows] - records.timestamp[start],
                key_length[rows],
                value_length[rows],
                tail_length[rows],
            ),
        )
        contents = BatchContents(
            payload=compress(codec, payload),
            codec=codec,
            records_count=stop - start,
            base_timestamp=int(records.timestamp[start]),
            max_timestamp=int(records.timestamp[rows].max()),
        )
        yield EncodedBatch(build_batch(contents), stop - start)
        start = stop


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
    joined = pc.binary_join_element_wise(
        varint_array(
            body_length, attributes, numbers.timestamp_delta, offset_delta, numbers.key_length
        ),
        pc.fill_null(key, b""),
        varint_array(numbers.value_length),
        pc.fill_null(value, b""),
        tail,
        b"",
    )
    offsets = np.frombuffer(joined.buffers()[1], dtype=np.int32)
    first, last = int(offsets[joined.offset]), int(offsets[joined.offset + count])
    return memoryview(joined.buffers()[2])[first:last]
