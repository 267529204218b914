"""Record batches -> Arrow record batches.

`record_rows` and `message_rows` find the positions of the fields of all records with numpy. Arrow
copies keys and values once: the buffer becomes one binary array of key, gap, key, gap, and so on,
and `take` selects the keys. A column that is not requested is only skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from kafka_protocol.columnar.headers import decode_headers
from kafka_protocol.columnar.message_rows import locate_messages
from kafka_protocol.columnar.record_rows import locate_offsets, locate_records
from kafka_protocol.columnar.rows import Slices
from kafka_protocol.columnar.schema import HEADERS_TYPE, RECORD_SCHEMA, record_schema
from kafka_protocol.columnar.slices import take_slices
from kafka_protocol.errors import CorruptRecordError, DecodeError
from kafka_protocol.records.batch import MIN_RECORD_BYTES, BatchHeader, RecordBatch
from kafka_protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Buffer, decompress
from kafka_protocol.records.message_set import MessageSetHeader, unpack
from kafka_protocol.topic_partition import OffsetRange, TopicPartition

# About the fastest size of Arrow batches for Spark: it amortises the cost per batch, and fits in
# the caches.
TARGET_BYTES: Final = 2 * 1024 * 1024
# The largest timestamp in ms that fits in 64 bits in µs (SPARK-56243).
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

    Control batches and records outside the window are skipped.

    Args:
        batches: From `records.batch.read_batches`.
        window: The partition and the offsets to keep.
        columns: The columns to decode, in the wanted order; names of `RECORD_SCHEMA`.
        max_decompressed_bytes: The largest decompressed size of one batch.
        target_bytes: The approximate bytes of decompressed records per Arrow batch; a larger
            record batch is not split.

    Yields:
        Arrow batches of at least one row, with `record_schema(columns)`.

    Raises:
        CorruptRecordError: With topic, partition and offset.
    """
    schema = record_schema(columns)
    only_headers = _IN_HEADERS.issuperset(columns)
    group = _Group(locate_records)
    for batch in batches:
        header = batch.header
        if not _is_wanted(header, window):
            continue
        if only_headers and isinstance(header, BatchHeader) and header.is_dense:
            locate: _Locate = locate_offsets
            payload: Buffer = batch.payload
        else:
            locate = _LOCATE[type(header)]
            payload = _unpack(batch, window, max_decompressed_bytes)
        if group.size >= target_bytes or group.locate is not locate:
            yield from _decode_group(group, window, schema)
            group = _Group(locate)
        group.add(header, payload)
    yield from _decode_group(group, window, schema)


_Header: TypeAlias = "BatchHeader | MessageSetHeader"
_Locate: TypeAlias = "Callable[[Any, Sequence[Buffer]], Any]"

# The columns that batch headers determine if the offsets have no gaps.
_IN_HEADERS: Final = frozenset({"topic", "partition", "offset", "timestampType"})

_LOCATE: Final[dict[type, _Locate]] = {
    BatchHeader: locate_records,
    MessageSetHeader: locate_messages,
}


class _Group:
    """Batches with the same `locate` function, which become one Arrow batch."""

    def __init__(self, locate: _Locate) -> None:
        self.locate = locate
        self.headers: list[_Header] = []
        self.payloads: list[Buffer] = []
        self.size = 0

    def add(self, header: _Header, payload: Buffer) -> None:
        """Add a batch at the end."""
        self.headers.append(header)
        self.payloads.append(payload)
        self.size += len(payload)


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
    if not group.headers:
        return
    first = group.headers[0]
    try:
        rows = _inside(group.locate(group.headers, group.payloads), window)
        table = _Table(rows, window.topic_partition)
        arrays = [_COLUMNS[name](table) for name in schema.names]
    except CorruptRecordError as error:
        offset = first.stated_offset if error.offset is None else error.offset
        raise _located(error.reason, offset, window) from error
    except DecodeError as error:
        raise _located(
            f"{error} (in one of the {len(group.headers)} batches from this offset on)",
            first.stated_offset,
            window,
        ) from error
    if len(rows.offset):
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _inside(rows: Any, window: OffsetRange) -> Any:
    inside = (rows.offset >= window.from_offset) & (rows.offset < window.until_offset)
    return rows if inside.all() else rows.where(inside)


class _Table(NamedTuple):
    """The input of the columns."""

    rows: Any  # Rows, or HeaderRows for the columns of _IN_HEADERS
    topic_partition: TopicPartition


# --- The columns ---------------------------------------------------------------------------------


def _binary(table: _Table, slices: Slices) -> pa.Array:
    return take_slices(table.rows.data, slices.start, slices.length, pa.binary())


def _topic(table: _Table) -> pa.Array:
    topic = pa.scalar(table.topic_partition.topic, pa.string())
    return pa.repeat(topic, len(table.rows.offset))


def _partition(table: _Table) -> pa.Array:
    partition = table.topic_partition.partition
    return pa.array(np.full(len(table.rows.offset), partition, dtype=np.int32))


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


def _headers(table: _Table) -> pa.Array:
    rows = table.rows
    headers = rows.headers
    if headers is None:
        return pa.nulls(len(rows.offset), HEADERS_TYPE)
    return decode_headers(rows.data, headers.start, headers.stop)


_COLUMNS: Final[dict[str, Callable[[_Table], Any]]] = {
    "key": lambda table: _binary(table, table.rows.key),
    "value": lambda table: _binary(table, table.rows.value),
    "topic": _topic,
    "partition": _partition,
    "offset": lambda table: pa.array(table.rows.offset),
    "timestamp": _timestamp,
    "timestampType": lambda table: pa.array(table.rows.timestamp_type.astype(np.int32)),
    "headers": _headers,
}
