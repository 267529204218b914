"""What producers were told, and what logs have: for the judge, never for the brokers."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kafka_protocol.records.record import Header, Record
from kafka_protocol.records.transactions import COMMIT
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.batches import Stored, marker_of

OPEN = "open"
COMMITTED = "committed"
ABORTED = "aborted"


class TrueRecord(NamedTuple):
    """A record with what became of it.

    Attributes:
        outcome: COMMITTED also without a transaction.
        acks: What the producer wanted to wait for; ACKS_ALL in a log.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    producer_id: int
    producer_epoch: int
    outcome: str = COMMITTED
    acks: int = -1


class _Acknowledgement(NamedTuple):
    stored: tuple[Stored, ...]
    acks: int


class Truth:
    """What was acknowledged, by topic id and partition.

    Attributes:
        commits: Is called with each group and the offsets that its coordinator is to commit.
    """

    def __init__(self) -> None:
        self.commits: Callable[[str, Mapping[TopicPartition, int]], None] = lambda *_: None
        self._acknowledged: dict[tuple[uuid.UUID, int], list[_Acknowledgement]] = defaultdict(list)

    def acknowledge(
        self, topic_id: uuid.UUID, number: int, stored: Iterable[Stored], acks: int
    ) -> None:
        """A producer is told that its batch is written."""
        self._acknowledged[topic_id, number].append(_Acknowledgement(tuple(stored), acks))

    def acknowledged(self, topic_id: uuid.UUID, number: int) -> list[TrueRecord]:
        """All records that producers were told of, in the order of the responses."""
        return [
            record
            for each in self._acknowledged.get((topic_id, number), [])
            for stored in each.stored
            if not stored.is_control
            for record in _records(stored, COMMITTED, each.acks)
        ]


def outcomes(batches: Iterable[Stored]) -> dict[int, str]:
    """Base offset of each batch of a transaction -> its outcome."""
    found: dict[int, str] = {}
    begun: dict[int, list[int]] = defaultdict(list)
    for stored in batches:
        header = stored.header
        if header is None or header.producer_id < 0:
            continue
        if header.is_control:
            outcome = COMMITTED if marker_of(stored).type == COMMIT else ABORTED
            found.update(dict.fromkeys(begun.pop(header.producer_id, []), outcome))
        elif header.is_transactional:
            begun[header.producer_id].append(stored.base_offset)
            found[stored.base_offset] = OPEN
    return found


def records_of(batches: Iterable[Stored], start_offset: int, until_offset: int) -> list[TrueRecord]:
    """The records of a log in a range of offsets, without markers."""
    kept = [*batches]
    ended = outcomes(kept)
    return [
        record
        for stored in kept
        if not stored.is_control
        for record in _records(stored, ended.get(stored.base_offset, COMMITTED), -1)
        if start_offset <= record.offset < until_offset
    ]


def _records(stored: Stored, outcome: str, acks: int) -> Iterable[TrueRecord]:
    header = stored.header
    producer = (-1, -1) if header is None else (header.producer_id, header.producer_epoch)
    for record in stored.records():
        yield _true(record, producer, outcome, acks)


def _true(record: Record, producer: tuple[int, int], outcome: str, acks: int) -> TrueRecord:
    return TrueRecord(*record, *producer, outcome, acks)
