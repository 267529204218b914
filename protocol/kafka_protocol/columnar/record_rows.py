"""Record batches of magic 2 -> rows: numpy reads the same field of all records together."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from kafka_protocol.columnar.record_ends import append_record_ends
from kafka_protocol.columnar.rows import RowRanges, Rows, lay_out
from kafka_protocol.columnar.varints import MAX_VARLONG_BYTES, Longs, read_varints, skip_varints
from kafka_protocol.errors import CorruptRecordError, DecodeError
from kafka_protocol.records.attributes import LOG_APPEND_TIME
from kafka_protocol.records.batch import BatchHeader
from kafka_protocol.records.compression import Buffer


def locate_records(headers: Sequence[BatchHeader], payloads: Sequence[Buffer]) -> Rows:
    """Find the fields of the records of batches, which have at least one each.

    Args:
        headers: The batches' headers.
        payloads: Their payloads, unpacked.

    Raises:
        CorruptRecordError: With the offset of the batch that is not what its header promises.
        DecodeError: A varint is too long, in whichever batch.
    """
    data, begins = lay_out(payloads)
    ranges = RowRanges.of(header.records_count for header in headers)
    end = _record_ends(data, begins, headers, payloads)
    start = np.empty_like(end)
    start[1:] = end[:-1]
    start[ranges.firsts] = begins

    view = np.frombuffer(data, dtype=np.uint8)
    pos = skip_varints(view, start) + 1  # the length, and the attributes, which nothing uses so far
    timestamp_delta, pos = read_varints(view, pos, MAX_VARLONG_BYTES)
    offset_delta, pos = read_varints(view, pos)
    key_length, key_start = read_varints(view, pos)
    pos = key_start + np.maximum(key_length, 0)
    value_length, value_start = read_varints(view, pos)
    headers_start = value_start + np.maximum(value_length, 0)
    broken = (key_length < -1) | (value_length < -1) | (headers_start >= end)
    if broken.any():
        header = headers[ranges.batch_of(np.argmax(broken))]
        raise CorruptRecordError(
            "a record is shorter than its key and value", offset=header.base_offset
        )
    _check_offsets(offset_delta, headers, ranges)
    return Rows(
        data=data,
        offset=ranges.repeat(header.base_offset for header in headers) + offset_delta,
        timestamp=_timestamps(timestamp_delta, headers, ranges),
        timestamp_type=ranges.repeat(header.timestamp_type for header in headers),
        key_start=key_start,
        key_length=key_length,
        value_start=value_start,
        value_length=value_length,
        end=end,
        headers_start=headers_start,
    )


def _record_ends(
    data: bytes, begins: Sequence[int], headers: Sequence[BatchHeader], payloads: Sequence[Buffer]
) -> Longs:
    ends = array("q")
    for begin, header, payload in zip(begins, headers, payloads, strict=True):
        try:
            append_record_ends(data, begin, begin + len(payload), header.records_count, ends)
        except DecodeError as error:
            raise CorruptRecordError(str(error), offset=header.base_offset) from error
    return np.frombuffer(ends, dtype=np.int64)


def _check_offsets(delta: Longs, headers: Sequence[BatchHeader], ranges: RowRanges) -> None:
    row = ranges.first_disorder(delta)
    if row is not None:
        offset = headers[ranges.batch_of(row)].base_offset
        raise CorruptRecordError("offset deltas do not ascend", offset=offset)
    # They ascend, so the outer ones speak for all.
    highest = np.array([header.last_offset_delta for header in headers])
    beyond = (delta[ranges.firsts] < 0) | (delta[ranges.lasts] > highest)
    if beyond.any():
        header = headers[int(np.argmax(beyond))]
        raise CorruptRecordError(
            f"an offset delta is outside of 0 to {header.last_offset_delta}",
            offset=header.base_offset,
        )


def _timestamps(delta: Longs, headers: Sequence[BatchHeader], ranges: RowRanges) -> Longs:
    """The base with each delta, or under LOG_APPEND_TIME the batch's one timestamp."""
    created = ranges.repeat(header.base_timestamp for header in headers) + delta
    appended = [header.timestamp_type == LOG_APPEND_TIME for header in headers]
    if not any(appended):
        return created
    return np.where(
        np.repeat(appended, ranges.counts),
        ranges.repeat(header.max_timestamp for header in headers),
        created,
    )
