"""Record batches -> Arrow record batches.

How: a Python loop finds only where each record begins, which nothing but the lengths in front of
the records can say; then numpy reads the same field of all records together. Keys and values are
copied once, by Arrow: the buffer is looked at as one binary array whose elements are key, gap,
key, gap, and so on, and `take` picks the keys. A column that is not asked for costs nothing but
being stepped over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_protocol.columnar.headers import decode_headers
from kafka_protocol.columnar.schema import RECORD_SCHEMA, record_schema
from kafka_protocol.columnar.slices import take_slices
from kafka_protocol.columnar.varints import (
    MAX_VARLONG_BYTES,
    PADDING,
    Longs,
    read_varints,
)
from kafka_protocol.errors import CorruptRecordError, DecodeError
from kafka_protocol.primitives import read_varint
from kafka_protocol.records.batch import (
    LOG_APPEND_TIME,
    MIN_RECORD_BYTES,
    BatchHeader,
    RecordBatch,
)
from kafka_protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, decompress
from kafka_protocol.topic_partition import OffsetRange

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
    group: list[_Unpacked] = []
    size = 0
    for batch in batches:
        if not _is_wanted(batch.header, window):
            continue
        unpacked = _unpack(batch, window, max_decompressed_bytes)
        group.append(unpacked)
        size += len(unpacked.payload)
        if size >= target_bytes:
            yield from _decode_group(group, window, schema)
            group, size = [], 0
    if group:
        yield from _decode_group(group, window, schema)


class _Unpacked(NamedTuple):
    header: BatchHeader
    payload: bytes | bytearray | memoryview


def _is_wanted(header: BatchHeader, window: OffsetRange) -> bool:
    return (
        not header.is_control
        and header.records_count > 0
        and header.next_offset > window.from_offset
        and header.base_offset < window.until_offset
    )


def _unpack(batch: RecordBatch, window: OffsetRange, max_bytes: int) -> _Unpacked:
    header = batch.header
    try:
        payload = decompress(header.codec, batch.payload, max_bytes)
    except CorruptRecordError as error:
        raise _located(error.reason, header.base_offset, window) from error
    if header.records_count > len(payload) // MIN_RECORD_BYTES:
        reason = f"{header.records_count} records are announced in {len(payload)} bytes"
        raise _located(reason, header.base_offset, window)
    return _Unpacked(header, payload)


def _located(reason: str, offset: int, window: OffsetRange) -> CorruptRecordError:
    return CorruptRecordError(reason, offset=offset, topic_partition=window.topic_partition)


class _Records(NamedTuple):
    """Where the fields of many records lie in one buffer; one row a record."""

    data: bytes  # with PADDING zeros behind it
    batch: npt.NDArray[np.intp]  # which batch of the group a record is of
    timestamp_delta: Longs
    offset_delta: Longs
    key_start: Longs
    key_length: Longs  # -1 for null
    value_start: Longs
    value_length: Longs
    headers_start: Longs
    end: Longs


def _decode_group(
    group: Sequence[_Unpacked], window: OffsetRange, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    headers = [unpacked.header for unpacked in group]
    try:
        records = _locate(group)
        table = _Table(records, _BatchColumns.of(headers), window)
        _check(table)
        keep = table.rows_in_window()
        table = table if keep is None else table.take(keep)
        arrays = [_COLUMNS[name](table) for name in schema.names]
    except CorruptRecordError as error:
        offset = headers[0].base_offset if error.offset is None else error.offset
        raise _located(error.reason, offset, window) from error
    except DecodeError as error:
        raise _located(
            f"{error} (in one of {len(headers)} batches from there on)",
            headers[0].base_offset,
            window,
        ) from error
    if len(table.offset):
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _locate(group: Sequence[_Unpacked]) -> _Records:
    data = b"".join((*(unpacked.payload for unpacked in group), bytes(PADDING)))
    view = np.frombuffer(data, dtype=np.uint8)
    starts: list[int] = []
    limits: list[int] = []  # where the last record of each batch must end
    pos = 0
    for header, payload in group:
        _find_records(data, pos, header.records_count, starts)
        pos += len(payload)
        limits.append(pos)
    counts = np.array([unpacked.header.records_count for unpacked in group])
    begins = np.array(starts, np.int64)
    length, start = read_varints(view, _inside(begins, len(data)))
    end = start + length
    due = np.append(begins[1:], pos)
    due[np.cumsum(counts) - 1] = limits
    wrong = (end != due) | (length < 0)
    batch = np.repeat(np.arange(len(group)), counts)
    if wrong.any():
        raise CorruptRecordError(
            "the lengths of the records do not add up to the length of the batch",
            offset=group[int(batch[np.argmax(wrong)])].header.base_offset,
        )
    return _read_fields(data, batch, start, end)


def _find_records(data: bytes, pos: int, count: int, starts: list[int]) -> None:
    """Note where each of `count` records begins, stepping from length to length.

    The one loop per record there is, so it is spelt out; what is impossible is found afterwards,
    for all records at once.
    """
    note = starts.append
    try:
        for _ in range(count):
            note(pos)
            byte = data[pos]
            if byte < 0x80:
                pos += (byte >> 1) + 1
                continue
            second = data[pos + 1]
            if second < 0x80:
                pos += ((byte & 0x7F | second << 7) >> 1) + 2
                continue
            length, pos = read_varint(memoryview(data), pos)
            pos += max(length, 0)
    except IndexError:
        raise DecodeError("a record begins behind the end of its batch") from None


def _inside(positions: Longs, size: int) -> Longs:
    """Positions that reads cannot leave the buffer from; wrong ones are found later."""
    return np.minimum(positions, size - PADDING)


def _read_fields(data: bytes, batch: npt.NDArray[np.intp], start: Longs, end: Longs) -> _Records:
    view = np.frombuffer(data, dtype=np.uint8)
    # One byte of attributes, which nothing uses so far, comes first.
    timestamp_delta, pos = read_varints(view, np.minimum(start + 1, end), MAX_VARLONG_BYTES)
    offset_delta, pos = read_varints(view, np.minimum(pos, end))
    key_length, key_start = read_varints(view, np.minimum(pos, end))
    pos = key_start + np.maximum(key_length, 0)
    value_length, value_start = read_varints(view, np.minimum(pos, end))
    headers_start = value_start + np.maximum(value_length, 0)
    broken = (key_length < -1) | (value_length < -1) | (pos >= end) | (headers_start >= end)
    if broken.any():
        raise CorruptRecordError("a record is shorter than its key and value")
    return _Records(
        data,
        batch,
        timestamp_delta,
        offset_delta,
        key_start,
        key_length,
        value_start,
        value_length,
        headers_start,
        end,
    )


class _BatchColumns(NamedTuple):
    """The headers of a group as columns; one row a batch."""

    base_offset: Longs
    last_offset_delta: Longs
    base_timestamp: Longs
    max_timestamp: Longs
    is_append_time: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, headers: Sequence[BatchHeader]) -> _BatchColumns:
        def longs(values: Iterable[int]) -> Longs:
            return np.fromiter(values, dtype=np.int64, count=len(headers))

        return cls(
            longs(h.base_offset for h in headers),
            longs(h.last_offset_delta for h in headers),
            longs(h.base_timestamp for h in headers),
            longs(h.max_timestamp for h in headers),
            np.array([h.timestamp_type == LOG_APPEND_TIME for h in headers]),
        )


class _Table:
    """Records with their batches: what the columns are made of."""

    def __init__(self, records: _Records, batches: _BatchColumns, window: OffsetRange) -> None:
        self.records = records
        self.batches = batches
        self.window = window
        self.offset: Longs = batches.base_offset[records.batch] + records.offset_delta

    def rows_in_window(self) -> Longs | None:
        """The rows to keep, or None for all of them."""
        inside = (self.offset >= self.window.from_offset) & (self.offset < self.window.until_offset)
        return None if inside.all() else np.flatnonzero(inside)

    def take(self, rows: Longs) -> _Table:
        """The same with some rows only."""
        data, *columns = self.records
        return _Table(
            _Records(data, *(column[rows] for column in columns)), self.batches, self.window
        )


def _check(table: _Table) -> None:
    """What the header promises about offsets."""
    records, batches = table.records, table.batches
    delta = records.offset_delta
    beyond = (delta < 0) | (delta > batches.last_offset_delta[records.batch])
    if beyond.any():
        row = int(np.argmax(beyond))
        raise CorruptRecordError(
            f"offset delta {delta[row]} is beyond the batch's last one",
            offset=int(batches.base_offset[records.batch[row]]),
        )
    # Rows of one batch must ascend, or a range would be cut in the wrong place.
    descending = (np.diff(delta) <= 0) & (np.diff(records.batch) == 0)
    if descending.any():
        row = int(np.argmax(descending))
        raise CorruptRecordError(
            "offset deltas do not ascend", offset=int(batches.base_offset[records.batch[row]])
        )


# --- The columns ---------------------------------------------------------------------------------


def _key(table: _Table) -> pa.Array:
    records = table.records
    return take_slices(records.data, records.key_start, records.key_length, pa.binary())


def _value(table: _Table) -> pa.Array:
    records = table.records
    return take_slices(records.data, records.value_start, records.value_length, pa.binary())


def _topic(table: _Table) -> pa.Array:
    return pa.repeat(pa.scalar(table.window.topic_partition.topic, pa.string()), len(table.offset))


def _partition(table: _Table) -> pa.Array:
    return pa.array(
        np.full(len(table.offset), table.window.topic_partition.partition, dtype=np.int32)
    )


def _offset(table: _Table) -> pa.Array:
    return pa.array(table.offset)


def _timestamp(table: _Table) -> pa.Array:
    records, batches = table.records, table.batches
    created = batches.base_timestamp[records.batch] + records.timestamp_delta
    appended = batches.max_timestamp[records.batch]
    timestamp = np.where(batches.is_append_time[records.batch], appended, created)
    malformed = (timestamp > _MAX_TIMESTAMP_MS) | (timestamp < -_MAX_TIMESTAMP_MS)
    if malformed.any():
        row = int(np.argmax(malformed))
        raise CorruptRecordError(
            f"[KAFKA_MALFORMED_RECORD_TIMESTAMP] the timestamp {timestamp[row]} ms does not fit "
            "Spark's microseconds",
            offset=int(table.offset[row]),
        )
    return pa.array(timestamp * 1000).cast(pa.timestamp("us", tz="UTC"))


def _timestamp_type(table: _Table) -> pa.Array:
    return pa.array(table.batches.is_append_time[table.records.batch].astype(np.int32))


def _headers(table: _Table) -> pa.Array:
    records = table.records
    return decode_headers(records.data, records.headers_start, records.end)


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
