"""Fetched record batches -> Arrow record batches.

`record_rows` and `message_rows` find the positions of the fields of all records with numpy, and
Arrow copies keys and values once (`slices`). A column that is not requested is only skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafka_protocol.columnar.arrays.arrow_memory import (
    array_of,
    array_of_bytes,
    indices_of,
    new_numbers,
)
from kafka_protocol.columnar.arrays.headers import decode_headers
from kafka_protocol.columnar.arrays.schema import (
    HEADERS_TYPE,
    RECORD_SCHEMA,
    TIMESTAMP_MS,
    record_schema,
)
from kafka_protocol.columnar.arrays.slices import take_slices
from kafka_protocol.columnar.arrays.varints import Longs
from kafka_protocol.columnar.reading.batch_headers import BatchHeaders
from kafka_protocol.columnar.reading.message_rows import locate_messages
from kafka_protocol.columnar.reading.parts import (
    HeaderPart,
    MessagePart,
    Part,
    PartLimits,
    RecordPart,
    located,
    parts_of,
)
from kafka_protocol.columnar.reading.record_rows import locate_offsets, locate_records
from kafka_protocol.columnar.reading.rows import Slices
from kafka_protocol.errors import CorruptRecordError, DecodeError
from kafka_protocol.records.batch import RecordBatch
from kafka_protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from kafka_protocol.topic_partition import OffsetRange

# An Arrow batch has the size of a Fetch response, within these limits: a batch takes some
# 2 ms of a worker's CPU, whatever its size, and memory for its size several times.
TARGET_BYTES: Final = 4 * 1024 * 1024
_MOST_TARGET_BYTES: Final = 16 * 1024 * 1024
# The largest timestamp in ms that fits in 64 bits in µs (SPARK-56243).
_MAX_TIMESTAMP_MS: Final = (2**63 - 1) // 1000

# The columns that batch headers determine if the offsets have no gaps.
_IN_HEADERS: Final = frozenset({"topic", "partition", "offset", "timestampType"})


def decode_batches(
    fetched: Iterable[tuple[OffsetRange, Sequence[RecordBatch]]],
    columns: Sequence[str] = tuple(RECORD_SCHEMA.names),
    *,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    target_bytes: int = TARGET_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Decode batches, in order. Batches of several partitions share Arrow batches.

    Control batches and records outside of their window are skipped.

    Args:
        fetched: For each partition the offsets to keep, the window, and batches as
            `records.batch.read_batches` returns them.
        columns: The columns to decode, in the wanted order; names of `RECORD_SCHEMA`, or that of
            `TIMESTAMP_MS`.
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
    limits = PartLimits(max_decompressed_bytes, target_bytes)
    pending: list[Part] = []
    size = 0
    for window, batches in fetched:
        for part in parts_of(window, batches, limits, only_headers=only_headers):
            is_full = size + part.size > target_bytes
            if pending and (is_full or not _fit_together(pending[0], part)):
                yield from _decode_parts(pending, schema)
                pending, size = [], 0
            pending.append(part)
            size += part.size
            if size >= target_bytes:
                yield from _decode_parts(pending, schema)
                pending, size = [], 0
    if pending:
        yield from _decode_parts(pending, schema)


def target_bytes_of(max_partition_fetch_bytes: int) -> int:
    """The `target_bytes` for Fetch responses of at most so many bytes."""
    return min(max(max_partition_fetch_bytes, TARGET_BYTES), _MOST_TARGET_BYTES)


def _fit_together(first: Part, part: Part) -> bool:
    return type(first) is type(part) is not MessagePart


def _decode_parts(parts: Sequence[Part], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    try:
        rows = _LOCATE[type(parts[0])](parts)
        table = _inside(rows, parts)
        arrays = [_COLUMNS[name](table) for name in schema.names]
    except (CorruptRecordError, DecodeError) as error:
        if len(parts) == 1:
            raise _located_in(parts[0], error) from error
        # The error is of one part, and so of one partition.
        for part in parts:
            yield from _decode_parts([part], schema)
    else:
        if len(table.rows.offset):
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _located_in(part: Part, error: CorruptRecordError | DecodeError) -> CorruptRecordError:
    headers = part.headers
    if isinstance(headers, BatchHeaders):
        first, count = int(headers.base_offset[0]), len(headers.base_offset)
    else:
        first, count = headers[0].stated_offset, len(headers)
    if isinstance(error, CorruptRecordError):
        return located(error.reason, first if error.offset is None else error.offset, part.window)
    reason = f"{error} (in one of the {count} batches from this offset on)"
    return located(reason, first, part.window)


# --- The rows ------------------------------------------------------------------------------------


def _rows_of_headers(parts: Sequence[HeaderPart]) -> Any:
    return locate_offsets(BatchHeaders.joined([part.headers for part in parts]))


def _rows_of_records(parts: Sequence[RecordPart]) -> Any:
    headers = BatchHeaders.joined([part.headers for part in parts])
    if len(parts) == 1:
        return locate_records(headers, *parts[0][2:])
    pieces = [memoryview(part.data)[part.begins[0] : part.stops[-1]] for part in parts]
    starts = np.cumsum([0, *map(len, pieces)])
    moved = [start - part.begins[0] for start, part in zip(starts, parts, strict=False)]
    begins = [part.begins + by for part, by in zip(parts, moved, strict=True)]
    stops = [part.stops + by for part, by in zip(parts, moved, strict=True)]
    return locate_records(headers, b"".join(pieces), np.concatenate(begins), np.concatenate(stops))


def _rows_of_messages(parts: Sequence[MessagePart]) -> Any:
    (part,) = parts
    return locate_messages(part.headers, part.payloads)


_LOCATE: Final[dict[type[Part], Callable[[Any], Any]]] = {
    HeaderPart: _rows_of_headers,
    RecordPart: _rows_of_records,
    MessagePart: _rows_of_messages,
}


class _Table(NamedTuple):
    """The input of the columns."""

    rows: Any  # Rows, or HeaderRows for the columns of _IN_HEADERS
    windows: Sequence[OffsetRange]
    window_of_row: Longs | None  # None: there is one window


def _inside(rows: Any, parts: Sequence[Part]) -> _Table:
    """The rows that are inside of their windows."""
    windows = [part.window for part in parts]
    if len(windows) == 1:
        inside = (rows.offset >= windows[0].from_offset) & (rows.offset < windows[0].until_offset)
        return _Table(rows if inside.all() else rows.where(inside), windows, None)
    # Message sets are decoded one part at a time.
    headers = (part.headers for part in parts if isinstance(part.headers, BatchHeaders))
    counts = [each.records_count.sum() for each in headers]
    of_row = np.repeat(np.arange(len(parts)), counts)
    first, until = np.array([window[1:] for window in windows]).T
    inside = (rows.offset >= first[of_row]) & (rows.offset < until[of_row])
    return _Table(rows.where(inside), windows, of_row[inside])


# --- The columns ---------------------------------------------------------------------------------


def _binary(table: _Table, slices: Slices) -> pa.Array:
    return take_slices(table.rows.data, slices.start, slices.length)


def _topic(table: _Table) -> pa.Array:
    topics = [window.topic_partition.topic for window in table.windows]
    names = array_of_bytes([topic.encode() for topic in topics], pa.string())
    if table.window_of_row is None:
        return pa.repeat(names[0], len(table.rows.offset))
    return names.take(indices_of(table.window_of_row))


def _partition(table: _Table) -> pa.Array:
    numbers = np.array([window.topic_partition.partition for window in table.windows], np.int32)
    if table.window_of_row is None:
        return array_of(np.broadcast_to(numbers, len(table.rows.offset)), pa.int32())
    return array_of(numbers[table.window_of_row], pa.int32())


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
    micros, buffer = new_numbers(len(timestamp), np.int64)
    np.multiply(timestamp, 1000, out=micros)
    return pa.Array.from_buffers(pa.timestamp("us", tz="UTC"), len(micros), [None, buffer])


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
    "offset": lambda table: array_of(table.rows.offset, pa.int64()),
    "timestamp": _timestamp,
    TIMESTAMP_MS.name: lambda table: array_of(table.rows.timestamp, pa.int64()),
    "timestampType": lambda table: array_of(table.rows.timestamp_type, pa.int32()),
    "headers": _headers,
}
