"""Record batches -> Arrow record batches.

How: `record_rows` and `message_rows` find where the fields of all records lie, with numpy. Keys and
values are copied once, by Arrow: the buffer is looked at as one binary array whose elements are
key, gap, key, gap, and so on, and `take` picks the keys. A column that is not asked for costs
nothing but being stepped over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from kafka_protocol.columnar.headers import decode_headers
from kafka_protocol.columnar.message_rows import locate_messages
from kafka_protocol.columnar.record_rows import locate_records
from kafka_protocol.columnar.rows import Rows
from kafka_protocol.columnar.schema import HEADERS_TYPE, RECORD_SCHEMA, record_schema
from kafka_protocol.columnar.slices import take_slices
from kafka_protocol.errors import CorruptRecordError, DecodeError
from kafka_protocol.records.batch import MIN_RECORD_BYTES, BatchHeader, RecordBatch
from kafka_protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Buffer, decompress
from kafka_protocol.records.message_set import MessageSetHeader, unpack
from kafka_protocol.topic_partition import OffsetRange, TopicPartition

# About the size at which Spark takes Arrow batches in fastest: large enough to amortise the
# hand-over, small enough to stay in the caches.
TARGET_BYTES: Final = 2 * 1024 * 1024
# A timestamp in ms whose µs would not fit in 64 bits (SPARK-56243).
_MAX_TIMESTAMP_MS: Final = (2**63 - 1) // 1000


def decode_batches(
    batches: Iterable[RecordBatch],
    window: OffsetRange,
    columns: Sequence[str] = tuple(RECORD_SCHEMA.names),
    *,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    target_bytes: int = TARGET_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Decode batches of one partition, in order.

    Control batches are left out, and records outside the window.

    Args:
        batches: From `records.batch.read_batches`.
        window: Which records to keep, of which partition.
        columns: The columns to decode, in the wanted order; names of `RECORD_SCHEMA`.
        max_decompressed_bytes: The most that one batch may unpack to.
        target_bytes: How many bytes of unpacked records to put into one Arrow batch, roughly;
            a batch that is larger is not split.

    Yields:
        Arrow batches of at least one row, with `record_schema(columns)`.

    Raises:
        CorruptRecordError: With topic, partition and offset.
    """
    schema = record_schema(columns)
    group = _Group([], [])
    size = 0
    for batch in batches:
        if not _is_wanted(batch.header, window):
            continue
        if size >= target_bytes or not group.takes(batch.header):
            yield from _decode_group(group, window, schema)
            group, size = _Group([], []), 0
        payload = _unpack(batch, window, max_decompressed_bytes)
        group.headers.append(batch.header)
        group.payloads.append(payload)
        size += len(payload)
    if group.headers:
        yield from _decode_group(group, window, schema)


_Header: TypeAlias = "BatchHeader | MessageSetHeader"


class _Group(NamedTuple):
    """Batches that become one Arrow batch: all of magic 2, or all older."""

    headers: list[_Header]
    payloads: list[Buffer]

    def takes(self, header: _Header) -> bool:
        """Whether the batch with that header may join."""
        return not self.headers or type(self.headers[0]) is type(header)


# By the type of the headers.
_LOCATE: Final[dict[type, Callable[[Any, Sequence[Buffer]], Rows]]] = {
    BatchHeader: locate_records,
    MessageSetHeader: locate_messages,
}


def _is_wanted(header: _Header, window: OffsetRange) -> bool:
    return (
        not header.is_control
        and not header.is_empty
        and header.next_offset > window.from_offset
        and header.base_offset < window.until_offset
    )


def _unpack(batch: RecordBatch, window: OffsetRange, max_bytes: int) -> Buffer:
    header, payload = batch
    try:
        if isinstance(header, MessageSetHeader):
            return unpack(header, payload, max_bytes)
        return _unpack_records(header, payload, max_bytes)
    except CorruptRecordError as error:
        raise _located(error.reason, header.stated_offset, window) from error


def _unpack_records(header: BatchHeader, payload: memoryview, max_bytes: int) -> Buffer:
    unpacked = decompress(header.codec, payload, max_bytes)
    if header.records_count > len(unpacked) // MIN_RECORD_BYTES:
        raise CorruptRecordError(
            f"{header.records_count} records are announced in {len(unpacked)} bytes"
        )
    return unpacked


def _located(reason: str, offset: int, window: OffsetRange) -> CorruptRecordError:
    return CorruptRecordError(reason, offset=offset, topic_partition=window.topic_partition)


def _decode_group(
    group: _Group, window: OffsetRange, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    first = group.headers[0]
    try:
        rows = _inside(_LOCATE[type(first)](*group), window)
        table = _Table(rows, window.topic_partition)
        arrays = [_COLUMNS[name](table) for name in schema.names]
    except CorruptRecordError as error:
        offset = first.stated_offset if error.offset is None else error.offset
        raise _located(error.reason, offset, window) from error
    except DecodeError as error:
        raise _located(
            f"{error} (in one of {len(group.headers)} batches from there on)",
            first.stated_offset,
            window,
        ) from error
    if len(rows.offset):
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _inside(rows: Rows, window: OffsetRange) -> Rows:
    inside = (rows.offset >= window.from_offset) & (rows.offset < window.until_offset)
    return rows if inside.all() else rows.take(np.flatnonzero(inside))


class _Table(NamedTuple):
    """What the columns are made of."""

    rows: Rows
    topic_partition: TopicPartition


# --- The columns ---------------------------------------------------------------------------------


def _key(table: _Table) -> pa.Array:
    rows = table.rows
    return take_slices(rows.data, rows.key_start, rows.key_length, pa.binary())


def _value(table: _Table) -> pa.Array:
    rows = table.rows
    return take_slices(rows.data, rows.value_start, rows.value_length, pa.binary())


def _topic(table: _Table) -> pa.Array:
    topic = pa.scalar(table.topic_partition.topic, pa.string())
    return pa.repeat(topic, len(table.rows.offset))


def _partition(table: _Table) -> pa.Array:
    partition = table.topic_partition.partition
    return pa.array(np.full(len(table.rows.offset), partition, dtype=np.int32))


def _offset(table: _Table) -> pa.Array:
    return pa.array(table.rows.offset)


def _timestamp(table: _Table) -> pa.Array:
    timestamp = table.rows.timestamp
    malformed = (timestamp > _MAX_TIMESTAMP_MS) | (timestamp < -_MAX_TIMESTAMP_MS)
    if malformed.any():
        row = int(np.argmax(malformed))
        raise CorruptRecordError(
            f"[KAFKA_MALFORMED_RECORD_TIMESTAMP] the timestamp {timestamp[row]} ms does not fit "
            "Spark's microseconds",
            offset=int(table.rows.offset[row]),
        )
    return pa.array(timestamp * 1000).cast(pa.timestamp("us", tz="UTC"))


def _timestamp_type(table: _Table) -> pa.Array:
    return pa.array(table.rows.timestamp_type.astype(np.int32))


def _headers(table: _Table) -> pa.Array:
    rows = table.rows
    if rows.headers_start is None:
        return pa.nulls(len(rows.offset), HEADERS_TYPE)
    return decode_headers(rows.data, rows.headers_start, rows.end)


_COLUMNS: Final[dict[str, Callable[[_Table], Any]]] = {
    "key": _key,
    "value": _value,
    "topic": _topic,
    "partition": _partition,
    "offset": _offset,
    "timestamp": _timestamp,
    "timestampType": _timestamp_type,
    "headers": _headers,
}
