"""A partition's log, as a leader keeps it: batches in order, and their offsets.

Only message format 2, and no compaction: `append_at` makes the gaps that a test wants.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import crc32c

from kafka_protocol.records.batch import (
    NO_PRODUCER,
    NO_SEQUENCE,
    BatchContents,
    BatchHeader,
    Producer,
    RecordBatch,
    build_batch,
    check_crc,
    read_batches,
)
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.records.record import Record, decode_records, encode_records
from kafka_protocol.records.transactions import ABORT

START_MS = 1_700_000_000_000


def batch_of(*values: bytes, timestamp: int = START_MS, producer: Producer = NO_PRODUCER) -> bytes:
    """A batch as a producer sends it: these values, without keys."""
    records = [Record(number, timestamp, None, value) for number, value in enumerate(values)]
    return _built(records, timestamp, producer)


def keyed_batch_of(*pairs: tuple[bytes | None, bytes | None]) -> bytes:
    """A batch with these keys and values; a value of None is a tombstone."""
    records = [Record(number, START_MS, *pair) for number, pair in enumerate(pairs)]
    return _built(records, START_MS, NO_PRODUCER)


def in_transaction(producer_id: int, *values: bytes) -> bytes:
    """A batch of a transaction."""
    return batch_of(*values, producer=Producer(producer_id, 0, 0, is_transactional=True))


def marker(producer_id: int, type_: int) -> bytes:
    """The control batch that ends a transaction: ABORT or COMMIT."""
    key = bytes(2) + type_.to_bytes(2, "big")
    producer = Producer(producer_id, 0, NO_SEQUENCE, is_transactional=True)
    batch = bytearray(_built([Record(0, START_MS, key, bytes(6))], START_MS, producer))
    batch[22] |= 0x20  # the attribute of control batches
    batch[17:21] = crc32c.crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)


def _built(records: list[Record], timestamp: int, producer: Producer) -> bytes:
    return build_batch(
        BatchContents(
            payload=encode_records(records, 0, timestamp),
            codec=CompressionCodec.NONE,
            records_count=len(records),
            base_timestamp=timestamp,
            max_timestamp=timestamp,
            producer=producer,
        )
    )


class Aborted(NamedTuple):
    """An aborted transaction, from its first record to its marker."""

    producer_id: int
    first_offset: int
    last_offset: int


class Log:
    """A log, at first empty, from offset 0 on.

    Attributes:
        start_offset: The log start offset.
        high_watermark: The end for consumers; moves with each append.
        first_unstable_offset: The first offset of the first open transaction; None without one.
        aborted: The aborted transactions.
    """

    def __init__(self) -> None:
        self.start_offset = 0
        self.high_watermark = 0
        self.first_unstable_offset: int | None = None
        self.aborted: list[Aborted] = []
        self._batches: list[bytes] = []
        self._next_offsets: list[int] = []

    @property
    def end_offset(self) -> int:
        return self._next_offsets[-1] if self._next_offsets else self.start_offset

    @property
    def last_stable_offset(self) -> int:
        unstable = self.first_unstable_offset
        return self.high_watermark if unstable is None else min(unstable, self.high_watermark)

    def append(self, batch: bytes | memoryview, leader_epoch: int = 0) -> int:
        """Check and append a producer's batch; returns its offset."""
        base_offset = self.end_offset
        (found,) = read_batches(memoryview(batch))
        check_crc(found)
        self.append_at(base_offset, batch, leader_epoch)
        return base_offset

    def append_at(self, base_offset: int, batch: bytes | memoryview, leader_epoch: int = 0) -> None:
        """Append a batch at an offset, perhaps behind a gap; nothing is checked."""
        front = base_offset.to_bytes(8, "big") + bytes(batch[8:12])
        epoch = leader_epoch.to_bytes(4, "big", signed=True)
        stored = front + epoch + bytes(batch[16:])
        last_offset_delta = int.from_bytes(stored[23:27], "big")
        self._batches.append(stored)
        self._next_offsets.append(base_offset + last_offset_delta + 1)
        self.high_watermark = self.end_offset

    def end_transaction(self, producer_id: int, first_offset: int, type_: int) -> None:
        """Append a marker for the transaction that began at an offset."""
        last_offset = self.append(marker(producer_id, type_))
        if type_ == ABORT:
            self.aborted.append(Aborted(producer_id, first_offset, last_offset))

    def aborted_between(self, offset: int, until: int) -> list[Aborted]:
        """The aborted transactions in a range, the newest first: clients must sort."""
        found = [a for a in self.aborted if a.last_offset >= offset and a.first_offset < until]
        return found[::-1]

    def delete_before(self, offset: int) -> None:
        """Delete batches that end before `offset`, as retention does."""
        gone = bisect_right(self._next_offsets, offset)
        del self._batches[:gone], self._next_offsets[:gone]
        self.start_offset = offset

    def truncate(self, offset: int) -> None:
        """Delete batches from `offset` on, as an unclean leader election does."""
        kept = bisect_right(self._next_offsets, offset)
        del self._batches[kept:], self._next_offsets[kept:]
        self.high_watermark = self.end_offset

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The last epoch up to that one, and the offset after its last record (KIP-320).

        Of an epoch whose records were deleted it is the start of the log, as in Kafka's
        `LeaderEpochFileCache`.
        """
        known, end_offset = epoch, self.start_offset
        for batch, next_offset in zip(self._batches, self._next_offsets, strict=True):
            of_batch = int.from_bytes(batch[12:16], "big", signed=True)
            if of_batch > epoch:
                break
            known, end_offset = of_batch, next_offset
        return known, end_offset

    def read(self, offset: int, until: int, max_bytes: int, *, first_whole: bool) -> bytes:
        """The records for a Fetch: from the batch with `offset` on, cut at `max_bytes`.

        Args:
            offset: The fetch offset.
            until: The high watermark, or the last stable offset.
            max_bytes: The size of the records.
            first_whole: Whether a larger first batch is complete (KIP-74).
        """
        parts: list[bytes] = []
        size = 0
        index = bisect_right(self._next_offsets, offset)
        while index < len(self._batches) and size < max_bytes:
            if self._next_offsets[index] > until:
                break
            parts.append(self._batches[index])
            size += len(parts[-1])
            index += 1
        if parts and first_whole:
            max_bytes = max(max_bytes, len(parts[0]))
        return b"".join(parts)[:max_bytes]

    def since(self, timestamp: int) -> tuple[int, int]:
        """Timestamp and offset of the first record from this timestamp on; else (-1, -1)."""
        for record in self._records():
            if record.timestamp >= timestamp:
                return record.timestamp, record.offset
        return -1, -1

    def newest(self) -> tuple[int, int]:
        """Timestamp and offset of the first record with the latest timestamp; else (-1, -1)."""
        return max(
            ((record.timestamp, record.offset) for record in self._records()),
            key=lambda found: (found[0], -found[1]),
            default=(-1, -1),
        )

    @property
    def batches(self) -> list[RecordBatch]:
        return [*read_batches(memoryview(b"".join(self._batches)))]

    @property
    def values(self) -> list[bytes]:
        """The values of all records but those of control batches."""
        data = (batch for batch in self.batches if not batch.header.is_control)
        return [record.value or b"" for batch in data for record in decode_records(batch)]

    @property
    def data_headers(self) -> list[BatchHeader]:
        """The headers of all batches but control batches."""
        headers = (batch.header for batch in self.batches)
        return [h for h in headers if isinstance(h, BatchHeader) and not h.is_control]

    def _records(self) -> list[Record]:
        return [record for batch in self.batches for record in decode_records(batch)]
