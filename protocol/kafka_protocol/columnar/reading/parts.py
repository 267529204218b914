"""Fetched batches -> parts of about the size of an Arrow batch: where each of them ends.

A part is of one partition and one format, and decompressed. No records are read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from kafka_protocol.columnar.arrays.varints import Bools, Longs
from kafka_protocol.columnar.reading.batch_columns import BatchColumns
from kafka_protocol.columnar.reading.batch_headers import BatchHeaders
from kafka_protocol.columnar.reading.rows import join_payloads
from kafka_protocol.columnar.reading.small_payloads import MAX_MEAN_BYTES, decompress_together
from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.batch import MIN_RECORD_BYTES, RecordBatch
from kafka_protocol.records.compression import Buffer, decompress
from kafka_protocol.records.message_set import MessageSetHeader, unpack
from kafka_protocol.topic_partition import OffsetRange

# A row counts as so many bytes at least: numpy takes twice as much for its positions.
_ROW_BYTES: Final = 100

# So many compressed bytes of small payloads are decompressed together.
_TOGETHER_BYTES: Final = 256 * 1024


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

    def where(self, wanted: Bools | slice) -> RecordPart:
        """The wanted batches."""
        return RecordPart(
            self.window,
            self.headers.where(wanted),
            self.data,
            self.begins[wanted],
            self.stops[wanted],
        )

    @property
    def size(self) -> int:
        """The bytes of records to read, but `_ROW_BYTES` of each at least."""
        return int(_sizes(self.headers, self.begins, self.stops).sum())


class MessagePart(NamedTuple):
    """Decompressed message sets (magic 0 and 1)."""

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


class PartLimits(NamedTuple):
    """Limits of decompressed sizes in bytes: of one batch, and of one part, roughly."""

    batch_bytes: int
    part_bytes: int


def parts_of(
    window: OffsetRange, batches: Sequence[RecordBatch], limits: PartLimits, *, only_headers: bool
) -> Iterator[Part]:
    """Decompress the batches that are in the window, in order.

    With `only_headers`, records are not read where the headers show all offsets. Control batches
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
            yield from _record_parts(window, BatchHeaders.of(headers), payloads, limits)


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
    window: OffsetRange, batches: BatchColumns, limits: PartLimits, *, only_headers: bool
) -> Iterator[Part]:
    part = RecordPart(window, batches.headers, batches.records, batches.begins, batches.stops)
    wanted = (
        (part.headers.records_count > 0)
        & (part.headers.next_offset > window.from_offset)
        & (part.headers.base_offset < window.until_offset)
    )
    if not wanted.all():
        part = part.where(wanted)
    if not len(part.begins):
        return
    if only_headers and part.headers.is_dense.all():
        yield HeaderPart(window, part.headers)
    elif part.headers.codec.any() or (part.stops - part.begins).max() > limits.batch_bytes:
        yield from _decompressed_parts(part, limits)
    else:
        sizes = _sizes(part.headers, part.begins, part.stops)
        yield from map(part.where, _in_pieces(sizes, limits.part_bytes))


def _in_pieces(sizes: Longs, piece_bytes: int) -> Iterator[slice]:
    """The elements in pieces of about this size."""
    piece_of = np.cumsum(sizes) // piece_bytes
    edges = [0, *(np.flatnonzero(np.diff(piece_of)) + 1).tolist(), len(sizes)]
    return map(slice, edges[:-1], edges[1:])


def _decompressed_parts(compressed: RecordPart, limits: PartLimits) -> Iterator[RecordPart]:
    sizes, codecs = compressed.stops - compressed.begins, compressed.headers.codec
    if sizes.mean() > MAX_MEAN_BYTES or (codecs != codecs[0]).any():
        yield from _decompressed_alone(compressed, limits)
        return
    for some in map(compressed.where, _in_pieces(sizes, _TOGETHER_BYTES)):
        unpacked = decompress_together(
            int(codecs[0]), memoryview(some.data), some.begins, some.stops, limits.batch_bytes
        )
        part = None if unpacked is None else RecordPart(some.window, some.headers, *unpacked)
        if part is None or _have_too_many(part).any():
            yield from _decompressed_alone(some, limits)
        else:
            yield part


def _decompressed_alone(compressed: RecordPart, limits: PartLimits) -> Iterator[RecordPart]:
    window, headers, records, begins, stops = compressed
    bounds = map(slice, begins.tolist(), stops.tolist())
    payloads = map(memoryview(records).__getitem__, bounds)
    return _record_parts(window, headers, payloads, limits)


def _record_parts(
    window: OffsetRange, headers: BatchHeaders, payloads: Iterable[Buffer], limits: PartLimits
) -> Iterator[RecordPart]:
    unpacked = _decompressed(window, headers, payloads, limits.batch_bytes)
    least = (_ROW_BYTES * headers.records_count).tolist()
    for these, piece in _pieces(unpacked, least, limits.part_bytes):
        yield _record_part(window, headers.where(these), piece)


def _decompressed(
    window: OffsetRange, headers: BatchHeaders, payloads: Iterable[Buffer], max_bytes: int
) -> Iterator[Buffer]:
    codecs, offsets = headers.codec.tolist(), headers.base_offset.tolist()
    for codec, offset, payload in zip(codecs, offsets, payloads, strict=True):
        try:
            yield decompress(codec, payload, max_bytes)
        except CorruptRecordError as error:
            raise located(error.reason, offset, window) from error


def _record_part(
    window: OffsetRange, headers: BatchHeaders, unpacked: Sequence[Buffer]
) -> RecordPart:
    data, positions = join_payloads(unpacked)
    begins = np.array(positions, dtype=np.int64)
    sizes = np.fromiter(map(len, unpacked), np.int64, len(unpacked))
    part = RecordPart(window, headers, data, begins, begins + sizes)
    too_many = _have_too_many(part)
    if too_many.any():
        at = int(too_many.argmax())
        raise located(
            f"{headers.records_count[at]} records are announced in {sizes[at]} bytes",
            int(headers.base_offset[at]),
            window,
        )
    return part


def _have_too_many(part: RecordPart) -> Bools:
    """For each batch, whether it announces more records than its bytes can have."""
    most = (part.stops - part.begins) // MIN_RECORD_BYTES
    too_many: Bools = part.headers.records_count > most
    return too_many


def _message_parts(
    window: OffsetRange,
    headers: Sequence[MessageSetHeader],
    payloads: Sequence[memoryview],
    limits: PartLimits,
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
) -> Iterator[Buffer]:
    for header, payload in zip(headers, payloads, strict=True):
        try:
            yield unpack(header, payload, max_bytes)
        except CorruptRecordError as error:
            raise located(error.reason, header.stated_offset, window) from error


def _pieces(
    payloads: Iterable[Buffer], least: Sequence[int], piece_bytes: int
) -> Iterator[tuple[slice, Sequence[Buffer]]]:
    """Payloads in pieces of this size at most, or one payload, with their numbers.

    There is one at least. A payload counts as its number in `least`, if it is smaller.
    """
    piece: list[Buffer] = []
    first, size = 0, 0
    for number, (payload, at_least) in enumerate(zip(payloads, least, strict=True)):
        added = max(len(payload), at_least)
        if piece and size + added > piece_bytes:
            yield slice(first, number), piece
            piece, first, size = [], number, 0
        piece.append(payload)
        size += added
    yield slice(first, first + len(piece)), piece
