"""What a leader knows of a partition's producers (KIP-98), as since Kafka 2.5 (KIP-360)."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from kafka_protocol.errors import ErrorCode
from kafka_protocol.records.batch import NO_PRODUCER_ID, BatchHeader, sequence_after

_REMEMBERED = 5


class Appended(NamedTuple):
    """A batch that is there."""

    base_sequence: int
    records_count: int
    base_offset: int


class _Known:
    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.last: deque[Appended] = deque(maxlen=_REMEMBERED)


class Producers:
    """Those of one partition.

    Attributes:
        forgotten: Whether a producer that is not known has to begin with sequence 0, as with
            brokers below 2.5.
    """

    def __init__(self) -> None:
        self.forgotten = False
        self._known: dict[int, _Known] = {}

    def forget(self) -> None:
        """What retention does, once no record of a producer is left; below 2.5."""
        self._known.clear()
        self.forgotten = True

    def check(self, header: BatchHeader) -> tuple[ErrorCode, int | None]:
        """Why a batch is refused, and the offset at which it is there already."""
        if header.producer_id == NO_PRODUCER_ID:
            return ErrorCode.NONE, None
        known = self._known.get(header.producer_id)
        if known is None or not known.last:
            is_lost = self.forgotten and header.base_sequence
            return (ErrorCode.UNKNOWN_PRODUCER_ID if is_lost else ErrorCode.NONE), None
        if header.producer_epoch < known.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH, None
        if header.producer_epoch > known.epoch:
            is_due = header.base_sequence == 0
            return (ErrorCode.NONE if is_due else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), None
        for each in known.last:
            if each[:2] == (header.base_sequence, header.records_count):
                return ErrorCode.NONE, each.base_offset
        newest = known.last[-1]
        due = sequence_after(newest.base_sequence, newest.records_count)
        is_due = header.base_sequence == due
        return (ErrorCode.NONE if is_due else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), None

    def note(self, header: BatchHeader, base_offset: int) -> None:
        """A batch was appended."""
        if header.producer_id == NO_PRODUCER_ID:
            return
        known = self._known.setdefault(header.producer_id, _Known(header.producer_epoch))
        if header.producer_epoch > known.epoch:
            known.epoch = header.producer_epoch
            known.last.clear()
        known.last.append(Appended(header.base_sequence, header.records_count, base_offset))
