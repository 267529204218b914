"""A leader's state of a partition's producers (KIP-98), as since Kafka 2.5 (KIP-360)."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from kafka_protocol.errors import ErrorCode
from kafka_protocol.records.batch import NO_PRODUCER_ID, BatchHeader, sequence_after

_REMEMBERED = 5


class Appended(NamedTuple):
    """A batch in the log."""

    base_sequence: int
    records_count: int
    base_offset: int


class _Known:
    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.last: deque[Appended] = deque(maxlen=_REMEMBERED)


class Producers:
    """The producers of one partition.

    Attributes:
        forgotten: Whether an unknown producer must begin with sequence 0, as below Kafka 2.5.
    """

    def __init__(self) -> None:
        self.forgotten = False
        self._known: dict[int, _Known] = {}

    def forget(self) -> None:
        """Forget all producers, as below 2.5 after retention deleted their records."""
        self._known.clear()
        self.forgotten = True

    def check(self, header: BatchHeader) -> tuple[ErrorCode, int | None]:
        """The error for a batch, and the offset of its earlier copy."""
        if header.producer_id == NO_PRODUCER_ID:
            return ErrorCode.NONE, None
        known = self._known.get(header.producer_id)
        if known is None or not known.last:
            is_unknown = self.forgotten and header.base_sequence
            return (ErrorCode.UNKNOWN_PRODUCER_ID if is_unknown else ErrorCode.NONE), None
        if header.producer_epoch < known.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH, None
        if header.producer_epoch > known.epoch:
            is_next = header.base_sequence == 0
            return (ErrorCode.NONE if is_next else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), None
        for each in known.last:
            if each[:2] == (header.base_sequence, header.records_count):
                return ErrorCode.NONE, each.base_offset
        newest = known.last[-1]
        is_next = header.base_sequence == sequence_after(*newest[:2])
        return (ErrorCode.NONE if is_next else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), None

    def note(self, header: BatchHeader, base_offset: int) -> None:
        """Note that a batch was appended."""
        if header.producer_id == NO_PRODUCER_ID:
            return
        known = self._known.setdefault(header.producer_id, _Known(header.producer_epoch))
        if header.producer_epoch > known.epoch:
            known.epoch = header.producer_epoch
            known.last.clear()
        known.last.append(Appended(header.base_sequence, header.records_count, base_offset))
