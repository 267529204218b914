"""Record batches of magic 2 -> rows: numpy reads the same field of all records together.

The position of a field depends on the fields before it. So a field that is not requested is only
skipped, and the fields after the last requested one are not read.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kafka_protocol.columnar.record_boundaries import append_record_boundaries
from kafka_protocol.columnar.record_boundaries_parallel import find_record_boundaries
from kafka_protocol.columnar.rows import HeaderRows, RowRanges, Slices, join_payloads
from kafka_protocol.columnar.varints import (
    MAX_VARLONG_BYTES,
    Bools,
    Bytes,
    Longs,
    read_varints,
    skip_varints,
)
from kafka_protocol.errors import CorruptRecordError, DecodeError
from kafka_protocol.records.attributes import LOG_APPEND_TIME
from kafka_protocol.records.batch import BatchHeader
from kafka_protocol.records.compression import Buffer


def locate_offsets(headers: Sequence[BatchHeader], _payloads: Sequence[Buffer]) -> HeaderRows:
    """The rows of batches without offset gaps: the headers alone determine the offsets."""
    ranges = RowRanges.of(header.records_count for header in headers)
    # The difference between a row's offset and its index, by batch.
    shift = np.array([header.base_offset for header in headers]) - ranges.firsts
    return HeaderRows(
        np.arange(ranges.total) + np.repeat(shift, ranges.counts),
        ranges.repeat(header.timestamp_type for header in headers),
    )


def locate_records(headers: Sequence[BatchHeader], payloads: Sequence[Buffer]) -> RecordRows:
    """Find the records of batches with one or more records each, in their decompressed payloads.

    Raises:
        CorruptRecordError: With the base offset of the batch that does not match its header.
        DecodeError: A varint is too long, in any batch.
    """
    data, begins = join_payloads(payloads)
    ranges = RowRanges.of(header.records_count for header in headers)
    end = _record_ends(data, begins, headers, payloads)
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
            batch=np.repeat(np.arange(len(headers)), ranges.counts),
            offset=ranges.repeat(header.base_offset for header in headers) + offset_delta,
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

    def __init__(self, headers: Sequence[BatchHeader], data: bytes, records: _Records) -> None:
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
        batch = self._records.batch
        delta, _ = read_varints(self._view, self._records.timestamp_at, MAX_VARLONG_BYTES)
        created = np.array([header.base_timestamp for header in self._headers])[batch] + delta
        appended = [header.timestamp_type == LOG_APPEND_TIME for header in self._headers]
        if not any(appended):
            return created
        highest = np.array([header.max_timestamp for header in self._headers])
        return np.where(np.array(appended)[batch], highest[batch], created)

    @property
    def timestamp_type(self) -> Longs:
        """0 for CREATE_TIME, 1 for LOG_APPEND_TIME, from the batch's header."""
        types = np.array([header.timestamp_type for header in self._headers])
        return types[self._records.batch]

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
            header = self._headers[self._records.batch[np.argmax(broken)]]
            raise CorruptRecordError(
                "a record is shorter than its key and value", offset=header.base_offset
            )

    def _slices(self, at: Longs) -> Slices:
        length, start = read_varints(self._view, at)
        slices = Slices(start, length)
        self.raise_if_any((length < -1) | (slices.stop >= self._records.end))
        return slices


def _record_ends(
    data: bytes, begins: Sequence[int], headers: Sequence[BatchHeader], payloads: Sequence[Buffer]
) -> Longs:
    stops = [begin + len(payload) for begin, payload in zip(begins, payloads, strict=True)]
    counts = [header.records_count for header in headers]
    found = find_record_boundaries(data, np.array(begins), np.array(stops), np.array(counts))
    if found is not None:
        return found
    ends = array("q")
    for header, begin, stop in zip(headers, begins, stops, strict=True):
        try:
            append_record_boundaries(data, begin, stop, header.records_count, ends)
        except DecodeError as error:
            raise CorruptRecordError(str(error), offset=header.base_offset) from error
    return np.frombuffer(ends, dtype=np.int64)


def _check_offsets(delta: Longs, headers: Sequence[BatchHeader], ranges: RowRanges) -> None:
    row = ranges.first_disorder(delta)
    if row is not None:
        offset = headers[ranges.batch_of(row)].base_offset
        raise CorruptRecordError("offset deltas do not ascend", offset=offset)
    # They ascend, so it is enough to check the first and the last.
    highest = np.array([header.last_offset_delta for header in headers])
    beyond = (delta[ranges.firsts] < 0) | (delta[ranges.lasts] > highest)
    if beyond.any():
        header = headers[int(np.argmax(beyond))]
        raise CorruptRecordError(
            f"an offset delta is outside of 0 to {header.last_offset_delta}",
            offset=header.base_offset,
        )
