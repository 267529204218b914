"""Message sets (magic 0 and 1) -> rows; numpy reads the same field of all messages together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kafka_protocol.columnar.arrays.varints import Bools, Bytes, Longs
from kafka_protocol.columnar.reading.rows import RowRanges, Slices, join_payloads
from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.attributes import CODEC_MASK, LOG_APPEND_TIME, NO_TIMESTAMP
from kafka_protocol.records.compression import Buffer
from kafka_protocol.records.message_set import (
    ATTRIBUTES_AT,
    KEY_AT,
    MAGIC_AT,
    TIMESTAMP_AT,
    MessageSetHeader,
    message_starts,
)

_KEY_AT = np.array(KEY_AT)


class MessageRows(NamedTuple):
    """Rows of message sets."""

    data: Buffer
    offset: Longs
    timestamp: Longs
    timestamp_type: Longs
    key: Slices
    value: Slices
    headers: None = None

    def where(self, wanted: Bools) -> MessageRows:
        """The wanted rows."""
        return MessageRows(
            self.data,
            self.offset[wanted],
            self.timestamp[wanted],
            self.timestamp_type[wanted],
            self.key.where(wanted),
            self.value.where(wanted),
        )


def locate_messages(headers: Sequence[MessageSetHeader], payloads: Sequence[Buffer]) -> MessageRows:
    """Find the fields of the messages of message sets, from their decompressed payloads.

    Raises:
        CorruptRecordError: With the offset of the damaged message set.
    """
    data, begins = join_payloads(payloads)
    start, end, ranges = _boundaries(begins, headers, payloads)
    view = np.frombuffer(data, dtype=np.uint8)
    magic = view[start + MAGIC_AT]
    key_at = start + _KEY_AT[np.minimum(magic, 1)]
    key = Slices(key_at + 4, _read_big_endian(view, key_at, 4))
    value_at = key.stop
    value = Slices(value_at + 4, _read_big_endian(view, value_at, 4))
    broken = (
        (magic > 1)
        | (view[start + ATTRIBUTES_AT] & CODEC_MASK != 0)
        | (key.length < -1)
        | (value.length < -1)
        | (value.stop != end)
    )
    if broken.any():
        header = headers[ranges.batch_of(np.argmax(broken))]
        raise CorruptRecordError(
            "a message has an unknown magic, is compressed inside a wrapper, or does not have the "
            "length of its key and value",
            offset=header.stated_offset,
        )
    return MessageRows(
        data=data,
        offset=_offsets(_read_big_endian(view, start, 8), headers, ranges),
        timestamp=_timestamps(
            _read_big_endian(view, start + TIMESTAMP_AT, 8), magic, headers, ranges
        ),
        timestamp_type=ranges.repeat(np.array([header.timestamp_type for header in headers])),
        key=key,
        value=value,
    )


def _boundaries(
    begins: Sequence[int], headers: Sequence[MessageSetHeader], payloads: Sequence[Buffer]
) -> tuple[Longs, Longs, RowRanges]:
    """The start and end of each message, and the range of messages of each message set."""
    boundaries: list[tuple[int, int]] = []
    counts = []
    for begin, header, payload in zip(begins, headers, payloads, strict=True):
        try:
            bounds = [(begin + start, begin + end) for start, end in message_starts(payload)]
        except CorruptRecordError as error:
            raise CorruptRecordError(error.reason, offset=header.stated_offset) from error
        boundaries += bounds
        counts.append(len(bounds))
    start, end = np.array(boundaries, dtype=np.int64).T
    return start, end, RowRanges.of(np.array(counts))


def _read_big_endian(view: Bytes, pos: Longs, size: int) -> Longs:
    """The signed number of `size` bytes at each position; undefined outside of the buffer."""
    value = view.take(pos, mode="clip").view(np.int8).astype(np.int64)
    for i in range(1, size):
        value <<= 8
        value |= view.take(pos + i, mode="clip")
    return value


def _offsets(stated: Longs, headers: Sequence[MessageSetHeader], ranges: RowRanges) -> Longs:
    """The absolute offsets, by the rules of `records.message`."""
    highest = np.array([header.last_offset for header in headers])
    lasts = stated[ranges.lasts]
    is_outside = (stated < 0) | (stated > np.repeat(lasts, ranges.counts))
    is_outside |= np.repeat((highest > 0) & (lasts > highest), ranges.counts)
    if is_outside.any():
        raise CorruptRecordError(
            "the offsets of the messages do not fit together",
            offset=headers[ranges.batch_of(np.argmax(is_outside))].stated_offset,
        )
    is_relative = [header.has_relative_offsets for header in headers]
    bases: Longs = np.where(is_relative, highest - lasts, 0)  # point: relative-offsets
    return stated + np.repeat(bases, ranges.counts)


def _timestamps(
    stated: Longs, magic: Bytes, headers: Sequence[MessageSetHeader], ranges: RowRanges
) -> Longs:
    """The timestamps: missing in magic 0; with LOG_APPEND_TIME, that of the wrapper."""
    appended = [
        header.codec != 0 and header.timestamp_type == LOG_APPEND_TIME for header in headers
    ]
    of_wrapper = ranges.repeat(np.array([header.timestamp for header in headers]))
    timestamps: Longs = np.where(np.repeat(appended, ranges.counts), of_wrapper, stated)
    return np.where(magic == 0, NO_TIMESTAMP, timestamps)
