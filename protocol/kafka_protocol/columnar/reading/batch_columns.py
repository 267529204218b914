"""The batches of a Fetch response, found and checked together; for topics with small batches.

`take_batch_columns` returns the same as `take_batches` of `client.consumer.fetch_response`, for a
response in which nothing needs attention. Any other response goes to that function, which handles
it, or raises the error.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from kafka_protocol.columnar.arrays.varints import Longs
from kafka_protocol.columnar.reading.batch_headers import WIRE_TYPE, BatchHeaders
from kafka_protocol.columnar.reading.rows import at_each_byte
from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.batch import (
    CRC_COVERS_FROM,
    HEADER_BYTES,
    MAGIC,
    MAX_BASE_OFFSET,
    MIN_RECORD_BYTES,
    BatchHeader,
    RecordBatch,
    read_batches,
)
from kafka_protocol.records.fetch_response import (
    UNKNOWN_OFFSET,
    PartitionData,
    TakenBatches,
    take_batches,
)
from kafka_protocol.topic_partition import OffsetRange

# For fewer batches numpy takes longer than the reference.
_MIN_BATCHES: Final = 16

# The base offset, which is skipped, and the length of the rest of the batch.
_PREFIX: Final = struct.Struct(">8xi")


class BatchColumns(Sequence[RecordBatch]):
    """Batches of magic 2 in one buffer. An element is built when it is asked for.

    Attributes:
        records: The buffer.
        headers: The columns that a decoder needs.
        begins: Where the payload of each batch begins in the buffer; ascending.
        stops: Where it stops.
    """

    def __init__(
        self, records: memoryview, headers: BatchHeaders, begins: Longs, stops: Longs
    ) -> None:
        self.records = records
        self.headers = headers
        self.begins = begins
        self.stops = stops

    def __len__(self) -> int:
        return len(self.begins)

    @overload
    def __getitem__(self, index: int) -> RecordBatch: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[RecordBatch]: ...

    def __getitem__(self, index: int | slice) -> RecordBatch | Sequence[RecordBatch]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        begin, stop = self.begins[index], self.stops[index]
        wire = at_each_byte(self.records, WIRE_TYPE)[begin - HEADER_BYTES]
        return RecordBatch(BatchHeader._make(wire.item()), self.records[begin:stop])


def take_batch_columns(
    data: PartitionData, rest: OffsetRange, *, check_crcs: bool, min_batches: int = _MIN_BATCHES
) -> TakenBatches:
    """Take the batches with records for the reader, as `take_batches` does.

    Below `min_batches` it is that function that takes them.

    Raises:
        CorruptRecordError: A batch is damaged. Nothing of the response may be used.
    """
    taken = None
    if not data.aborted_transactions:
        taken = _take(data, rest, min_batches, check_crcs=check_crcs)
    return taken or take_batches(data, rest, check_crcs=check_crcs)


def _take(
    data: PartitionData, rest: OffsetRange, min_batches: int, *, check_crcs: bool
) -> TakenBatches | None:
    """None if the response needs attention, or has only a few batches."""
    records = memoryview(data.records or b"")
    bounds = _boundaries(records, min_batches)
    if bounds is None:
        return None
    starts, stops = bounds[:-1], bounds[1:]
    wire = at_each_byte(records, WIRE_TYPE)[starts]
    next_offset = wire["base_offset"].astype(np.int64) + wire["last_offset_delta"] + 1
    # Batches after the range can be newer than the high watermark of the response.
    is_last = next_offset >= rest.until_offset
    count = int(is_last.argmax()) + 1 if is_last.any() else len(starts)
    wire, starts, stops = wire[:count], starts[:count], stops[:count]
    headers = BatchHeaders.of_wire(wire)
    if not _is_plain(wire, headers, stops - starts, data.high_watermark):
        return None
    position = int(headers.next_offset[-1])
    if headers.base_offset[-1] >= rest.until_offset:
        # Compaction removed the rest of the range.
        position = rest.until_offset
        wire, starts, stops = wire[:-1], starts[:-1], stops[:-1]
        headers = headers.where(slice(-1))
    size = int(stops[-1]) if len(stops) else 0
    is_new = headers.next_offset > rest.from_offset
    if not (len(is_new) and is_new[-1]):
        return None
    if check_crcs and not _crcs_match(records, starts, stops, wire["crc"]):
        return None
    begins = starts + HEADER_BYTES
    wanted = is_new & ~headers.is_control
    if not wanted.all():
        headers, begins, stops = headers.where(wanted), begins[wanted], stops[wanted]
    return TakenBatches(
        BatchColumns(records, headers, begins, stops),
        position,
        int(wire["partition_leader_epoch"][-1]),
        is_empty=False,
        size=size,
    )


def _boundaries(records: memoryview, min_batches: int) -> Longs | None:
    """The start of each complete batch in the bytes, and the end of the last one.

    None if one is too short, or there are fewer.
    """
    length_at, prefix_bytes = _PREFIX.unpack_from, _PREFIX.size
    bounds = [pos := 0]
    add = bounds.append
    with suppress(struct.error):  # at the end
        # A size may lead backwards: no more batches than fit.
        for _ in range(len(records) // HEADER_BYTES):
            (length,) = length_at(records, pos)
            pos += prefix_bytes + length
            add(pos)
    if len(bounds) <= min_batches:
        return None
    edges = np.fromiter(bounds, np.int64, len(bounds))
    is_behind = edges > len(records)
    whole = edges[: int(is_behind.argmax())] if is_behind.any() else edges
    if len(whole) <= min_batches or (np.diff(whole) < HEADER_BYTES).any():
        return None
    try:
        is_cut_short = not any(True for _ in read_batches(records[int(whole[-1]) :]))
    except CorruptRecordError:
        return None
    return whole if is_cut_short else None


def _is_plain(
    wire: npt.NDArray[Any], headers: BatchHeaders, sizes: Longs, high_watermark: int
) -> bool:
    """Whether all headers are valid and in order, below the high watermark if it is known."""
    base_offset, offsets = headers.base_offset, headers.last_offset_delta + 1
    if (wire["magic"] != MAGIC).any():
        return False
    in_order = base_offset[0] >= 0 and (base_offset[1:] >= headers.next_offset[:-1]).all()
    below = base_offset[-1] <= MAX_BASE_OFFSET and (
        high_watermark <= UNKNOWN_OFFSET or base_offset[-1] < high_watermark
    )
    counts = headers.records_count
    possible = (headers.codec != 0) | (counts <= (sizes - HEADER_BYTES) // MIN_RECORD_BYTES)
    are_valid = (offsets > 0) & (counts >= 0) & (counts <= offsets) & possible
    return bool(in_order and below and are_valid.all())


def _crcs_match(records: memoryview, starts: Longs, stops: Longs, crcs: npt.NDArray[Any]) -> bool:
    covered = zip((starts + CRC_COVERS_FROM).tolist(), stops.tolist(), strict=True)
    return bool([crc32c(records[begin:stop]) for begin, stop in covered] == crcs.tolist())
