"""Fetched batches -> parts of about the size of an Arrow batch: where each of them ends.

A part is of one partition and one format, and decompressed. No records are read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from kafka_protocol.columnar.batch_columns import BatchColumns
from kafka_protocol.columnar.batch_headers import BatchHeaders
from kafka_protocol.columnar.rows import join_payloads
from kafka_protocol.columnar.varints import Longs
from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.batch import MIN_RECORD_BYTES, RecordBatch
from kafka_protocol.records.compression import Buffer, decompress, decompress_together
from kafka_protocol.records.message_set import MessageSetHeader, unpack
from kafka_protocol.topic_partition import OffsetRange

# A row counts as so many bytes at least: numpy takes as much for its positions.
_ROW_BYTES: Final = 200

# Small payloads are decompressed so many at a time.
_AT_ONCE: Final = 64
_SMALL_BYTES: Final = 4 * 1024


class HeaderPart(NamedTuple):
    """Batches whose headers determine the wanted columns."""

    window: OffsetRange
    headers: BatchHeaders

    @property
    def size(self) -> int:
        """The bytes of records to read."""
        return 0


class RecordPart(NamedTuple):
    """Batches of magic 2; the records of each are in `data`, from `begins` to `stops`."""

    window: OffsetRange
    headers: BatchHeaders
    data: Buffer
    begins: Longs
    stops: Longs

    @property
    def size(self) -> int:
        """The bytes of records to read, but `_ROW_BYTES` of each at least."""
        return int(_sizes(self.headers, self.begins, self.stops).sum())


class MessagePart(NamedTuple):
    """Message sets."""

    window: OffsetRange
    headers: Sequence[MessageSetHeader]
    payloads: Sequence[Buffer]

    @property
    def size(self) -> int:
        """The bytes of records to read."""
        return sum(map(len, self.payloads))


def _sizes(headers: BatchHeaders, begins: Longs, stops: Longs) -> Longs:
    sizes: Longs = np.maximum(stops - begins, _ROW_BYTES * headers.records_count)
    return sizes


Part: TypeAlias = "HeaderPart | RecordPart | MessagePart"


class Limits(NamedTuple):
    """Limits of decompressed sizes in bytes: of one batch, and of one part, roughly."""

    batch_bytes: int
    part_bytes: int


def parts_of(
    window: OffsetRange, batches: Sequence[RecordBatch], limits: Limits, *, only_headers: bool
) -> Iterator[Part]:
    """Decompress the batches that are in the window, in order.

    With `only_headers`, records are not read where the headers tell all offsets. Control batches
    and empty ones are skipped.

    Raises:
        CorruptRecordError: With topic, partition and offset.
    """
    if isinstance(batches, BatchColumns):
        yield from _parts_of_columns(window, batches, limits, only_headers=only_headers)
        return
    wanted = (batch for batch in batches if _is_wanted(batch, window))
    for kind, run in groupby(wanted, key=lambda batch: _kind(batch, only_headers=only_headers)):
        headers, payloads = zip(*run, strict=True)
        if kind is MessagePart:
            yield from _message_parts(window, headers, payloads, limits)
        elif kind is HeaderPart:
            yield HeaderPart(window, BatchHeaders.of(headers))
        else:
            yield from _record_parts(
                window, BatchHeaders.of(headers), ([each] for each in payloads), limits
            )


def located(reason: str, offset: int, window: OffsetRange) -> CorruptRecordError:
    """The error with topic, partition and offset."""
    return CorruptRecordError(reason, offset=offset, topic_partition=window.topic_partition)


def _is_wanted(batch: RecordBatch, window: OffsetRange) -> bool:
    header = batch.header
    return (
        not header.is_control
        and not header.is_empty
        and header.next_offset > window.from_offset
        and header.base_offset < window.until_offset
    )


def _kind(batch: RecordBatch, *, only_headers: bool) -> type[Part]:
    header = batch.header
    if isinstance(header, MessageSetHeader):
        return MessagePart
    return HeaderPart if only_headers and header.is_dense else RecordPart


def _parts_of_columns(
    window: OffsetRange, batches: BatchColumns, limits: Limits, *, only_headers: bool
) -> Iterator[Part]:
    headers, begins, stops = batches.headers, batches.begins, batches.stops
    wanted = (
        (headers.records_count > 0)
        & (headers.next_offset > window.from_offset)
        & (headers.base_offset < window.until_offset)
    )
    if not wanted.all():
        headers, begins, stops = headers.where(wanted), begins[wanted], stops[wanted]
    if not len(begins):
        return
    if only_headers and headers.is_dense.all():
        yield HeaderPart(window, headers)
        return
    if headers.codec.any() or (stops - begins).max() > limits.batch_bytes:
        yield from _record_parts(window, headers, _payloads(batches, begins, stops), limits)
        return
    part_of = np.cumsum(_sizes(headers, begins, stops)) // limits.part_bytes
    edges = [0, *(np.flatnonzero(np.diff(part_of)) + 1).tolist(), len(begins)]
    for first, last in pairwise(edges):
        these = slice(first, last)
        yield RecordPart(window, headers.where(these), batches.records, begins[these], stops[these])


def _payloads(batches: BatchColumns, begins: Longs, stops: Longs) -> Iterator[Sequence[Buffer]]:
    """The payloads, some small ones at a time: a view of each at once keeps the collector busy."""
    at_once = _AT_ONCE if (stops - begins).max() <= _SMALL_BYTES else 1
    for first in range(0, len(begins), at_once):
        these = slice(first, first + at_once)
        bounds = map(slice, begins[these].tolist(), stops[these].tolist())
        yield [*map(batches.records.__getitem__, bounds)]


def _record_parts(
    window: OffsetRange,
    headers: BatchHeaders,
    payloads: Iterable[Sequence[Buffer]],
    limits: Limits,
) -> Iterator[RecordPart]:
    unpacked = _decompressed(window, headers, payloads, limits.batch_bytes)
    least = (_ROW_BYTES * headers.records_count).tolist()
    for these, piece in _pieces(unpacked, least, limits.part_bytes):
        yield _record_part(window, headers.where(these), piece)


def _decompressed(
    window: OffsetRange,
    headers: BatchHeaders,
    payloads: Iterable[Sequence[Buffer]],
    max_bytes: int,
) -> Iterator[Sequence[Buffer]]:
    codecs, first = headers.codec.tolist(), 0
    for some in payloads:
        these = slice(first, first + len(some))
        first += len(some)
        yield _together(codecs[these], some, max_bytes) or _one_by_one(
            window, headers.base_offset[these], codecs[these], some, max_bytes
        )


def _together(
    codecs: Sequence[int], payloads: Sequence[Buffer], max_bytes: int
) -> Sequence[Buffer] | None:
    if len(payloads) == 1 or len({*codecs}) > 1:
        return None
    return decompress_together(codecs[0], payloads, max_bytes)


def _one_by_one(
    window: OffsetRange,
    base_offset: Longs,
    codecs: Sequence[int],
    payloads: Sequence[Buffer],
    max_bytes: int,
) -> list[Buffer]:
    unpacked: list[Buffer] = []
    for offset, codec, payload in zip(base_offset, codecs, payloads, strict=True):
        try:
            unpacked.append(decompress(codec, payload, max_bytes))
        except CorruptRecordError as error:
            raise located(error.reason, int(offset), window) from error
    return unpacked


def _record_part(
    window: OffsetRange, headers: BatchHeaders, unpacked: Sequence[Buffer]
) -> RecordPart:
    data, positions = join_payloads(unpacked)
    begins = np.array(positions, dtype=np.int64)
    sizes = np.fromiter(map(len, unpacked), np.int64, len(unpacked))
    too_many = headers.records_count > sizes // MIN_RECORD_BYTES
    if too_many.any():
        at = int(too_many.argmax())
        raise located(
            f"{headers.records_count[at]} records are announced in {sizes[at]} bytes",
            int(headers.base_offset[at]),
            window,
        )
    return RecordPart(window, headers, data, begins, begins + sizes)


def _message_parts(
    window: OffsetRange,
    headers: Sequence[MessageSetHeader],
    payloads: Sequence[memoryview],
    limits: Limits,
) -> Iterator[MessagePart]:
    unpacked = _unwrapped(window, headers, payloads, limits.batch_bytes)
    least = [0] * len(payloads)
    for these, piece in _pieces(unpacked, least, limits.part_bytes):
        yield MessagePart(window, headers[these], piece)


def _unwrapped(
    window: OffsetRange,
    headers: Sequence[MessageSetHeader],
    payloads: Sequence[memoryview],
    max_bytes: int,
) -> Iterator[Sequence[Buffer]]:
    for header, payload in zip(headers, payloads, strict=True):
        try:
            unpacked = unpack(header, payload, max_bytes)
        except CorruptRecordError as error:
            raise located(error.reason, header.stated_offset, window) from error
        yield [unpacked]


def _pieces(
    payloads: Iterable[Sequence[Buffer]], least: Sequence[int], piece_bytes: int
) -> Iterator[tuple[slice, Sequence[Buffer]]]:
    """Payloads in pieces of this size at most, or as many as come together, with their numbers.

    There is one at least. A payload counts as its number in `least`, if it is smaller.
    """
    piece: list[Buffer] = []
    first, size = 0, 0
    for some in payloads:
        begin = first + len(piece)
        added = sum(map(max, map(len, some), least[begin : begin + len(some)]))
        if piece and size + added > piece_bytes:
            yield slice(first, begin), piece
            piece, first, size = [], begin, 0
        piece += some
        size += added
    yield slice(first, first + len(piece)), piece
