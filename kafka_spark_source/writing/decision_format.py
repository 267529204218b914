"""Decisions of exactly-once writes, and their stored format. No I/O: `commit_log` writes them.

A decision is one record, or several where it is of many tasks: parts with writes, and then the
record that names them. They are in one transaction, so there are either all of them or no record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from kafka_protocol.client.producer.transactions import Transaction
from kafka_protocol.errors import KafkaError
from kafka_protocol.topic_partition import TopicPartition

# The second format has parts. Without parts the first one is written.
_FORMAT: Final = 1
_FORMAT_WITH_PARTS: Final = 2

# The longest value of a record before compression, nearly.
MAX_PART_BYTES: Final = 500_000


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"))


class MicroBatch(NamedTuple):
    """A micro-batch: the id of its query, which the checkpoint keeps, and its number."""

    query: str
    number: int


class TaskWrite(NamedTuple):
    """The transaction and records of one task. The fields and their order are a stored format.

    Attributes:
        partition: The number of the task.
        records: The number of records.
        transaction: The transaction that contains them; None if the task wrote none.
        joined: A topic partition of the transaction.
        offset: The offset of one of its records there; None if no broker returned one.
    """

    partition: int
    records: int
    transaction: Transaction | None = None
    joined: TopicPartition | None = None
    offset: int | None = None


def transactions_of(writes: Iterable[TaskWrite]) -> dict[Transaction, TaskWrite]:
    """The transactions of the tasks that wrote any records."""
    return {write.transaction: write for write in writes if write.transaction is not None}


class CommitLogError(KafkaError):
    """The commit log cannot be used, or a decision in it cannot be carried out."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The transactions that commit.

    Attributes:
        driver_transaction: The driver's transaction that contains this decision.
        micro_batch: The micro-batch that they wrote; None for a batch query.
        writes: One for each task.
    """

    driver_transaction: Transaction
    micro_batch: MicroBatch | None
    writes: tuple[TaskWrite, ...]

    @property
    def transactions(self) -> dict[Transaction, TaskWrite]:
        """The transactions of the tasks that wrote any records."""
        return transactions_of(self.writes)

    def to_json(self) -> list[bytes]:
        """The values of its records, the parts first. Named tuples become lists."""
        parts = [*_parts(self.writes)]
        head: dict[str, Any] = {"claim": self.driver_transaction, "micro_batch": self.micro_batch}
        if len(parts) <= 1:
            return [to_json({"version": _FORMAT, **head, "writes": self.writes})]
        version = {"version": _FORMAT_WITH_PARTS, "parts": len(parts), "tasks": len(self.writes)}
        return [*parts, to_json(version | head)]


class DecisionHead(NamedTuple):
    """A decision without its writes where these are in parts.

    Attributes:
        driver_transaction: The driver's transaction that contains the decision.
        micro_batch: The micro-batch, or None for a batch query.
        tasks: How many tasks it has.
        parts: How many records with writes precede it.
        writes: The writes, where there are no parts.
    """

    driver_transaction: Transaction
    micro_batch: MicroBatch | None
    tasks: int
    parts: int
    writes: tuple[TaskWrite, ...]

    @classmethod
    def from_json(cls, text: bytes, where: str) -> DecisionHead:
        """Parse the value of the last record of a decision.

        Raises:
            CommitLogError: It is not a decision, or one of a newer version of this project.
        """
        try:
            fields = json.loads(text)
            if fields["version"] > _FORMAT_WITH_PARTS:
                raise CommitLogError(
                    f"{where} is of version {fields['version']}, and this release of pykafka knows "
                    f"{_FORMAT_WITH_PARTS}: use the newer release that wrote it"
                )
            batch = fields["micro_batch"]
            writes = tuple(_write(*each) for each in fields.get("writes", []))
            return cls(
                Transaction(*fields["claim"]),
                batch and MicroBatch(*batch),
                int(fields.get("tasks", len(writes))),
                int(fields.get("parts", 0)),
                writes,
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise _no_decision(where, error) from None

    def with_parts(self, parts: Iterable[bytes], where: str) -> Decision:
        """The whole decision.

        Raises:
            CommitLogError: A part is missing, or cannot be parsed.
        """
        try:
            writes = [_write(*each) for part in parts for each in json.loads(part)]
        except (ValueError, TypeError) as error:
            raise _no_decision(where, error) from None
        writes = [*self.writes, *writes]
        if len(writes) != self.tasks:
            raise CommitLogError(f"{where} has {self.tasks} tasks, but {len(writes)} were found")
        return Decision(self.driver_transaction, self.micro_batch, tuple(writes))


def to_json(value: object) -> bytes:
    """The shortest JSON of a value. Named tuples become lists."""
    return _ENCODER.encode(value).encode()


def _parts(writes: Iterable[TaskWrite]) -> Iterator[bytes]:
    """JSON lists of writes, each of MAX_PART_BYTES or a little more."""
    part: list[bytes] = []
    part_bytes = 0
    for write in writes:
        text = to_json(write)
        part.append(text)
        part_bytes += len(text) + 1
        if part_bytes >= MAX_PART_BYTES:
            yield b"[" + b",".join(part) + b"]"
            part, part_bytes = [], 0
    if part:
        yield b"[" + b",".join(part) + b"]"


def _write(
    partition: int,
    records: int,
    transaction: list[Any] | None,
    joined: list[Any] | None,
    offset: int | None,
) -> TaskWrite:
    return TaskWrite(
        partition,
        records,
        Transaction(*transaction) if transaction else None,
        TopicPartition(*joined) if joined else None,
        offset,
    )


def _no_decision(where: str, error: Exception) -> CommitLogError:
    return CommitLogError(f"{where} is not a decision of pykafka: {error!r}")
