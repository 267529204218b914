"""The log of one replica: stored batches, and where each leader epoch began.

This is what a broker has on its disk. Who may read how far is decided in `replica`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, NamedTuple

from tests.simulation.kafka.batches import Stored

UNDEFINED: Final = -1
# index.interval.bytes: how far apart the entries of the offset index are.
_INDEX_BYTES: Final = 4096


class Position(NamedTuple):
    """A record's timestamp and offset, and the leader epoch of its batch; -1 for none."""

    timestamp: int
    offset: int
    epoch: int


NOWHERE: Final = Position(-1, -1, -1)


class Rolling(NamedTuple):
    """When a log begins another segment: segment.bytes and segment.ms."""

    max_bytes: int = 1024 * 1024 * 1024
    max_ms: int = 7 * 24 * 60 * 60 * 1000


_DEFAULTS: Final = Rolling()


class ReplicaLog:
    """Batches in the order of their offsets, perhaps with gaps.

    Attributes:
        segments: The first offset of each segment; a read ends where its segment does.
    """

    def __init__(self, rolling: Rolling = _DEFAULTS) -> None:
        self.start_offset = 0
        self.rolling = rolling
        self.segments = [0]
        self._segment_bytes = 0
        self._segment_ms = -1  # of the first batch in the last segment
        self.batches: list[Stored] = []
        self.epochs: list[tuple[int, int]] = []  # leader epoch, its first offset
        self._next_offsets: list[int] = []

    def __repr__(self) -> str:
        return f"<ReplicaLog {self.start_offset} to {self.end_offset}, epochs {self.epochs}>"

    @property
    def end_offset(self) -> int:
        return self._next_offsets[-1] if self._next_offsets else self.start_offset

    @property
    def last_epoch(self) -> int:
        return self.epochs[-1][0] if self.epochs else UNDEFINED

    def append(self, stored: Stored) -> None:
        """Add a batch behind the others."""
        # The log start of an empty replica can lie within the leader's first batch.
        is_first = not self.batches and stored.next_offset > self.start_offset
        if stored.base_offset < self.end_offset and not is_first:
            raise ValueError(f"{stored.base_offset} is below the end of {self}")
        if stored.epoch > self.last_epoch:
            self.epochs.append((stored.epoch, stored.base_offset))
        self._roll(stored)
        self.batches.append(stored)
        self._next_offsets.append(stored.next_offset)

    def _roll(self, stored: Stored) -> None:
        """Begin another segment if the last one is full, or too old for a batch."""
        is_full = self._segment_bytes + len(stored.data) > self.rolling.max_bytes
        is_old = 0 <= self._segment_ms < stored.max_timestamp - self.rolling.max_ms
        if self._segment_bytes and (is_full or is_old):
            self.segments.append(stored.base_offset)
            self._segment_bytes, self._segment_ms = 0, -1
        self._segment_bytes += len(stored.data)
        if self._segment_ms < 0:
            self._segment_ms = stored.max_timestamp

    def segment_end(self, offset: int) -> int:
        """Where the segment with an offset ends; the log end for the last one."""
        index = bisect_right(self.segments, offset)
        return self.segments[index] if index < len(self.segments) else self.end_offset

    def begin_epoch(self, epoch: int) -> None:
        """Note that a leader begins here."""
        if epoch > self.last_epoch:
            self.epochs.append((epoch, self.end_offset))

    def index_of(self, offset: int) -> int:
        """The place of the batch that has the offset, or of the one behind it."""
        return bisect_right(self._next_offsets, offset)

    def read(self, offset: int, until: int, max_bytes: int, *, first_whole: bool) -> list[Stored]:
        """The batches for a Fetch, from the one with `offset` on; the last may be too large.

        Args:
            offset: The fetch offset.
            until: The high watermark, or the last stable offset.
            max_bytes: The size of the records.
            first_whole: Whether a larger first batch is complete (KIP-74).
        """
        index = self.index_of(offset)
        found: list[Stored] = []
        if index < len(self.batches):
            until = min(until, self.segment_end(self.batches[index].base_offset))
        left = max_bytes
        while index < len(self.batches) and left > 0:
            stored = self.batches[index]
            if stored.next_offset > until:
                break
            found.append(stored)
            left -= len(stored.data)
            index += 1
        if len(found) > 1 and left < 0 and first_whole and len(found[0].data) > max_bytes:
            del found[1:]
        return found

    def upper_bound(self, last: Stored) -> int:
        """An offset behind a batch, as the sparse offset index tells it."""
        index = self.index_of(last.base_offset) + 1
        skipped = 0
        while index < len(self.batches) and skipped < _INDEX_BYTES:
            skipped += len(self.batches[index].data)
            index += 1
        end = self.segment_end(last.base_offset)
        return min(end, self.batches[index].base_offset) if index < len(self.batches) else end

    def truncate(self, offset: int) -> bool:
        """Delete what lies at `offset` and behind it; whether there was something."""
        kept = bisect_right(self._next_offsets, offset)
        is_changed = kept < len(self.batches)
        del self.batches[kept:], self._next_offsets[kept:]
        if not self.batches:
            self.start_offset = min(self.start_offset, offset)
        self.epochs = [(epoch, start) for epoch, start in self.epochs if start < self.end_offset]
        self._keep_segments(self.segments[0], self.end_offset)
        return is_changed

    def restart_at(self, offset: int) -> None:
        """Delete everything; the log begins at another offset."""
        self.batches, self._next_offsets, self.epochs = [], [], []
        self.start_offset = offset
        self._keep_segments(offset, offset)

    def _keep_segments(self, first: int, until: int) -> None:
        """Forget the segments outside of a range; the last one is as full as it is."""
        begun = [offset for offset in self.segments if offset <= first]
        self.segments = [
            max(begun, default=first),
            *(offset for offset in self.segments if first < offset < until),
        ]
        last = self.batches[self.index_of(self.segments[-1]) :]
        self._segment_bytes = sum(len(stored.data) for stored in last)
        self._segment_ms = last[0].max_timestamp if last else -1

    def delete_before(self, offset: int) -> None:
        """Move the log start, and delete the batches that end before it."""
        if offset <= self.start_offset:
            return
        end_offset = self.end_offset
        gone = bisect_right(self._next_offsets, offset)
        del self.batches[:gone], self._next_offsets[:gone]
        self.start_offset = offset if self.batches else max(offset, end_offset)
        before = [epoch for epoch, start in self.epochs if start <= offset]
        after = [(epoch, start) for epoch, start in self.epochs if start > offset]
        self.epochs = [*((epoch, offset) for epoch in before[-1:]), *after]
        self._keep_segments(self.start_offset, self.end_offset + 1)

    def replace(self, batches: Iterable[Stored]) -> None:
        """Other batches with the same range of offsets: what a compaction left."""
        self.batches = [*batches]
        self._next_offsets = [stored.next_offset for stored in self.batches]

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The last epoch up to that one, and its end (KIP-101); UNDEFINED above all of them."""
        if epoch == UNDEFINED:
            return UNDEFINED, UNDEFINED
        if epoch == self.last_epoch:
            return epoch, self.end_offset
        higher = next((start for known, start in self.epochs if known > epoch), None)
        if higher is None:
            return UNDEFINED, UNDEFINED
        lower = [known for known, _ in self.epochs if known <= epoch]
        return (lower[-1] if lower else epoch), higher

    def epoch_at(self, offset: int) -> int:
        """The leader epoch that wrote an offset; UNDEFINED if it is not known."""
        return next((e for e, start in reversed(self.epochs) if start <= offset), UNDEFINED)

    def since(self, timestamp: int) -> Position:
        """The first record from this timestamp on."""
        for stored in self.batches:
            if stored.max_timestamp >= timestamp:
                for record in stored.records():
                    if record.timestamp >= timestamp and record.offset >= self.start_offset:
                        return Position(record.timestamp, record.offset, stored.epoch)
        return NOWHERE

    def newest(self) -> Position:
        """The first record with the latest timestamp."""
        if not self.batches:
            return NOWHERE
        newest = max(stored.max_timestamp for stored in self.batches)
        return self.since(newest) if newest >= 0 else NOWHERE
