"""Record batches of magic 2 -> rows: numpy reads the same field of all records together.

The position of a field depends on the fields before it. So a field that is not requested is only
skipped, and the fields after the last requested one are not read.
"""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kafka_protocol.columnar.arrays.varints import (
    MAX_VARLONG_BYTES,
    Bools,
    Bytes,
    Longs,
    read_varints,
    skip_varints,
)
from kafka_protocol.columnar.reading.batch_headers import BatchHeaders
from kafka_protocol.columnar.reading.record_boundaries import append_record_boundaries
from kafka_protocol.columnar.reading.record_boundaries_parallel import find_record_boundaries
from kafka_protocol.columnar.reading.rows import HeaderRows, RowRanges, Slices
from kafka_protocol.errors import CorruptRecordError, DecodeError
from kafka_protocol.records.attributes import CREATE_TIME, LOG_APPEND_TIME
from kafka_protocol.records.compression import Buffer


def locate_offsets(headers: BatchHeaders) -> HeaderRows:
    """The rows of batches without offset gaps: the headers alone determine the offsets."""
    ranges = RowRanges.of(headers.records_count)
    # The difference between a row's offset and its index, by batch.
    shift = headers.base_offset - ranges.firsts
    return HeaderRows(
        np.arange(ranges.total) + ranges.repeat(shift),
        ranges.repeat(np.where(headers.is_append_time, LOG_APPEND_TIME, CREATE_TIME)),
    )


def locate_records(headers: BatchHeaders, data: Buffer, begins: Longs, stops: Longs) -> RecordRows:
    """Find the records of batches with one or more records each.

    The decompressed records of each batch are in `data`, from `begins` (ascending) to `stops`.

    Raises:
        CorruptRecordError: With the base offset of the batch that does not match its header.
        DecodeError: A varint is too long, in any batch.
    """
    ranges = RowRanges.of(headers.records_count)
    end = _record_ends(data, begins, stops, headers)
    start = np.empty_like(end)
    start[1:] = end[:-1]
    start[ranges.firsts] = begins

    view = np.frombuffer(data, dtype=np.uint8)
    # After the length is the unused attributes byte.
    timestamp_at = skip_varints(view, start) + 1
    offset_delta_at = skip_varints(view, timestamp_at, MAX_VARLONG_BYTES)
    offset_delta, key_at = read_varints(view, offset_delta_at)
    rows = RecordRows(
        headers,
        data,
        _Records(
            batch=ranges.repeat(np.arange(len(headers.base_offset))),
            offset=ranges.repeat(headers.base_offset) + offset_delta,
            timestamp_at=timestamp_at,
            key_at=key_at,
            end=end,
        ),
    )
    rows.raise_if_any(key_at >= end)
    _check_offsets(offset_delta, headers, ranges)
    return rows


class _Records(NamedTuple):
    """The batch, the offset and the positions in the buffer of each record."""

    batch: Longs  # index
    offset: Longs
    timestamp_at: Longs
    key_at: Longs  # of its length field
    end: Longs


class RecordRows:
    """Rows of record batches; a property reads its field on access."""

    def __init__(self, headers: BatchHeaders, data: Buffer, records: _Records) -> None:
        self.data = data
        self.offset = records.offset
        self._headers = headers
        self._records = records
        self._view: Bytes = np.frombuffer(data, dtype=np.uint8)

    def where(self, wanted: Bools) -> RecordRows:
        """The wanted rows."""
        records = _Records._make(column[wanted] for column in self._records)
        return RecordRows(self._headers, self.data, records)

    @property
    def timestamp(self) -> Longs:
        """The timestamps in ms; with LOG_APPEND_TIME, that of the batch."""
        headers, batch = self._headers, self._records.batch
        delta, _ = read_varints(self._view, self._records.timestamp_at, MAX_VARLONG_BYTES)
        created = headers.base_timestamp[batch] + delta
        if not headers.is_append_time.any():
            return created
        return np.where(headers.is_append_time[batch], headers.max_timestamp[batch], created)

    @property
    def timestamp_type(self) -> Longs:
        """0 for CREATE_TIME, 1 for LOG_APPEND_TIME, from the batch's header."""
        return self._headers.is_append_time[self._records.batch].astype(np.int64)

    @cached_property
    def key(self) -> Slices:
        """Keys."""
        return self._slices(self._records.key_at)

    @cached_property
    def value(self) -> Slices:
        """Values."""
        return self._slices(self.key.stop)

    @property
    def headers(self) -> Slices:
        """The bytes after the value: the header count, then the headers."""
        start = self.value.stop
        return Slices(start, self._records.end - start)

    def raise_if_any(self, broken: Bools) -> None:
        """Raise CorruptRecordError for the first broken row, if any."""
        if broken.any():
            batch = self._records.batch[np.argmax(broken)]
            raise CorruptRecordError(
                "a record is shorter than its key and value",
                offset=int(self._headers.base_offset[batch]),
            )

    def _slices(self, at: Longs) -> Slices:
        length, start = read_varints(self._view, at)
        slices = Slices(start, length)
        self.raise_if_any((length < -1) | (slices.stop >= self._records.end))
        return slices


def _record_ends(data: Buffer, begins: Longs, stops: Longs, headers: BatchHeaders) -> Longs:
    boundaries = find_record_boundaries(data, begins, stops, headers.records_count)
    if boundaries is not None:
        return boundaries
    ends = array("q")
    batches = (begins, stops, headers.records_count, headers.base_offset)
    for begin, stop, count, offset in zip(*(each.tolist() for each in batches), strict=True):
        try:
            append_record_boundaries(data, begin, stop, count, ends)
        except DecodeError as error:
            raise CorruptRecordError(str(error), offset=offset) from error
    return np.frombuffer(ends, dtype=np.int64)


def _check_offsets(delta: Longs, headers: BatchHeaders, ranges: RowRanges) -> None:
    row = ranges.first_disorder(delta)
    if row is not None:
        offset = int(headers.base_offset[ranges.batch_of(row)])
        raise CorruptRecordError("offset deltas do not ascend", offset=offset)
    # They ascend, so it is enough to check the first and the last.
    highest = headers.last_offset_delta
    beyond = (delta[ranges.firsts] < 0) | (delta[ranges.lasts] > highest)
    if beyond.any():
        batch = int(np.argmax(beyond))
        raise CorruptRecordError(
            f"an offset delta is outside of 0 to {highest[batch]}",
            offset=int(headers.base_offset[batch]),
        )
