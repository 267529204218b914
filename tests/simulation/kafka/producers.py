"""What a replica knows of the producers in its log: sequences, epochs, transactions (KIP-98).

It follows from the log, so a follower that becomes leader has it, and after a truncation or a
restart it is made from the log again. Source: Kafka's ProducerStateManager, ProducerAppendInfo.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_protocol.errors import ErrorCode
from kafka_protocol.records.batch import BatchHeader, sequence_after
from kafka_protocol.records.transactions import ABORT
from tests.simulation.kafka.batches import Marker, Stored, marker_of

_REMEMBERED: Final = 5
_EXPIRATION_CHECK_MS: Final = 600_000
_NO_EPOCH: Final = -1
_MAX_SEQUENCE: Final = 2**31 - 1


class Appended(NamedTuple):
    """A batch in the log."""

    base_sequence: int
    records_count: int
    base_offset: int
    timestamp: int


class Known:
    """One producer."""

    def __init__(self) -> None:
        self.epoch = _NO_EPOCH
        self.last: deque[Appended] = deque(maxlen=_REMEMBERED)
        self.last_ms = -1
        self.coordinator_epoch = -1
        self.first_offset: int | None = None  # of the open transaction

    @property
    def last_sequence(self) -> int:
        if not self.last:
            return -1
        newest = self.last[-1]
        return (newest.base_sequence + newest.records_count - 1) % (_MAX_SEQUENCE + 1)

    def copy_of(self, header: BatchHeader) -> Appended | None:
        """The batch in the log that this one repeats."""
        if header.producer_epoch != self.epoch:
            return None
        wanted = (header.base_sequence, header.records_count)
        return next((each for each in self.last if each[:2] == wanted), None)


class Aborted(NamedTuple):
    """An aborted transaction, from its first record to its marker."""

    producer_id: int
    first_offset: int
    last_offset: int


class Producers:
    """The producers of one replica.

    Attributes:
        keeps_unknown: Whether an unknown producer may begin with any sequence (2.5, KIP-360).
        aborted: The aborted transactions, in the order of their markers.
    """

    def __init__(self, *, keeps_unknown: bool) -> None:
        self.keeps_unknown = keeps_unknown
        self.known: dict[int, Known] = {}
        self.aborted: list[Aborted] = []
        self._open: dict[int, int] = {}  # producer id -> first offset, in the order of offsets
        self._looked_ms = -1.0
        self._unreplicated: list[tuple[int, int]] = []  # first offset and marker of ended ones

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the first transaction begins that is open, or whose marker may be lost."""
        ended = min((first for first, _ in self._unreplicated), default=None)
        begun = next(iter(self._open.values()), None)
        found = [offset for offset in (ended, begun) if offset is not None]
        return min(found, default=None)

    def advance(self, high_watermark: int) -> None:
        """Markers below the high watermark can be lost no more."""
        if self._unreplicated:
            self._unreplicated = [each for each in self._unreplicated if each[1] >= high_watermark]

    def check(self, header: BatchHeader) -> ErrorCode:
        """The error for a client's batch that repeats none."""
        known = self.known.get(header.producer_id)
        if known is None or known.epoch == _NO_EPOCH:
            is_lost = header.base_sequence and not self.keeps_unknown
            return ErrorCode.UNKNOWN_PRODUCER_ID if is_lost else ErrorCode.NONE
        if header.producer_epoch < known.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if header.producer_epoch > known.epoch:
            expected = 0
        elif known.last:
            newest = known.last[-1]
            expected = sequence_after(newest.base_sequence, newest.records_count)
        else:
            expected = 0
        if header.base_sequence == expected:
            return ErrorCode.NONE
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int) -> ErrorCode:
        """The error for a coordinator's marker."""
        known = self.known.get(producer_id)
        if known is None:
            return ErrorCode.NONE
        if epoch < known.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if coordinator_epoch < known.coordinator_epoch:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return ErrorCode.NONE

    def has_open(self, producer_id: int, epoch: int) -> bool:
        """Whether a transaction of this producer has records here."""
        known = self.known.get(producer_id)
        return known is not None and known.epoch == epoch and known.first_offset is not None

    def note(self, stored: Stored) -> None:
        """A batch was appended."""
        header = stored.header
        if header is None or header.producer_id < 0:
            return
        known = self.known.setdefault(header.producer_id, Known())
        if header.producer_epoch > known.epoch:
            known.epoch = header.producer_epoch
            known.last.clear()
        known.last_ms = stored.max_timestamp
        if header.is_control:
            self._end(header.producer_id, known, stored, marker_of(stored))
            return
        count = header.last_offset_delta + 1
        known.last.append(
            Appended(header.base_sequence, count, header.base_offset, stored.max_timestamp)
        )
        if header.is_transactional and known.first_offset is None:
            known.first_offset = header.base_offset
            self._open[header.producer_id] = header.base_offset

    def _end(self, producer_id: int, known: Known, stored: Stored, marker: Marker) -> None:
        known.coordinator_epoch = marker.coordinator_epoch
        first = self._open.pop(producer_id, None)
        known.first_offset = None
        if first is None:
            return
        self._unreplicated.append((first, stored.base_offset))
        if marker.type == ABORT:
            self.aborted.append(Aborted(producer_id, first, stored.base_offset))

    def aborted_between(self, offset: int, until: int) -> list[Aborted]:
        """The aborted transactions with records in a range."""
        return [a for a in self.aborted if a.last_offset >= offset and a.first_offset < until]

    def expire(self, now_ms: float, keeps_ms: float) -> None:
        """Forget producers whose last record is too old, but for open transactions.

        Brokers look every ten minutes, and at the times of records, whatever these are.
        """
        if self._looked_ms < 0:
            self._looked_ms = now_ms
        if now_ms - self._looked_ms < _EXPIRATION_CHECK_MS:
            return
        self._looked_ms = now_ms
        gone = [
            producer_id
            for producer_id, known in self.known.items()
            if known.last_ms <= now_ms - keeps_ms and known.first_offset is None
        ]
        for producer_id in gone:
            del self.known[producer_id]


def rebuilt(batches: Iterable[Stored], *, keeps_unknown: bool) -> Producers:
    """The producers of a log, from its batches."""
    producers = Producers(keeps_unknown=keeps_unknown)
    for stored in batches:
        producers.note(stored)
    return producers
