"""Columns -> record batches of magic 2."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from kafka_protocol.columnar.arrays.arrow_memory import array_of_bytes
from kafka_protocol.columnar.arrays.headers import encode_headers
from kafka_protocol.columnar.arrays.slices import lengths, varint_array
from kafka_protocol.columnar.arrays.varints import Longs, varint_sizes
from kafka_protocol.columnar.writing.columns import Encoder, RecordColumns
from kafka_protocol.columnar.writing.joining import Field, join_fields
from kafka_protocol.records.batch import BatchContents
from kafka_protocol.records.compression import Compression, compress

# Attributes, and the longest varints of a record: length, timestamp, offset, two lengths.
_MAX_OVERHEAD: Final = 1 + 5 + 10 + 5 + 5 + 5

_NO_HEADERS: Final = b"\x00"


def record_encoder(
    records: RecordColumns, rows: Longs, compression: Compression, _magic: int
) -> Encoder:
    """An encoder of record batches.

    Raises:
        EncodeError: A header has no key.
    """
    tail = _tail(records, rows)
    key_length, value_length = lengths(records.key)[rows], lengths(records.value)[rows]
    tail_length = lengths(tail.column)[tail.rows]
    fields_bytes = np.maximum(key_length, 0) + np.maximum(value_length, 0) + tail_length

    def encode(starts: Longs) -> Iterator[BatchContents]:
        count = np.diff(starts)
        first = np.repeat(starts[:-1], count)
        number = np.arange(len(rows))
        timestamp = records.timestamp[rows]
        offset_delta = number - first
        timestamp_delta = timestamp - timestamp[first]
        body_length = (
            1  # attributes
            + varint_sizes(timestamp_delta)
            + varint_sizes(offset_delta)
            + varint_sizes(key_length)
            + varint_sizes(value_length)
            + fields_bytes
        )
        # The attributes byte 0 is also the varint 0.
        attributes = np.zeros_like(number)
        front = varint_array(body_length, attributes, timestamp_delta, offset_delta, key_length)
        data, ends = join_fields(
            len(rows),
            [
                Field(front, number),
                Field(records.key, rows),
                Field(varint_array(value_length), number),
                Field(records.value, rows),
                tail,
            ],
        )
        bounds = pairwise(ends[starts].tolist())
        base_timestamps = timestamp[starts[:-1]].tolist()
        max_timestamps = np.maximum.reduceat(timestamp, starts[:-1]).tolist()
        for (start, end), records_count, base_timestamp, max_timestamp in zip(
            bounds, count.tolist(), base_timestamps, max_timestamps, strict=True
        ):
            yield BatchContents(
                payload=compress(compression.codec, data[start:end], compression.level),
                codec=compression.codec,
                records_count=records_count,
                base_timestamp=base_timestamp,
                max_timestamp=max_timestamp,
            )

    return Encoder(fields_bytes + _MAX_OVERHEAD, encode)


def _tail(records: RecordColumns, rows: Longs) -> Field:
    """The header count and the headers of each record."""
    if records.headers is None:
        return Field(array_of_bytes([_NO_HEADERS]), 0)
    return Field(encode_headers(records.headers), rows)
