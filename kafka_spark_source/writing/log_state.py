"""The state of each prefix of a commit log: folded from its records, and kept in snapshots. Pure.

A snapshot is a record of the log itself. It has the state of all prefixes before an offset, so a
read begins there and not at the beginning of the log. Any correct snapshot leads to the same state,
since the records from its offset on are folded again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from kafka_protocol.records.record import Record
from kafka_spark_source.writing.decision_format import DecisionHead, MicroBatch, to_json

SNAPSHOT_KEY: Final = b"snapshot"
_SNAPSHOT_FORMAT: Final = 1

_DECIDED: Final = "decided"
_DONE: Final = "done"
_PART: Final = "part"


class LoggedDecision(NamedTuple):
    """The last decision of a prefix. The fields and their order are a stored format.

    Attributes:
        producer: Producer id and epoch of the driver's transaction that contains it.
        micro_batch: The micro-batch that it decides about; None for a batch query.
        tasks: How many tasks it has.
        first_offset: The offset of its first record.
        last_offset: The offset of its last record.
        written_ms: When it was written, in ms since 1970.
        done: The producer whose decision was carried out last.
    """

    producer: tuple[int, int]
    micro_batch: MicroBatch | None
    tasks: int
    first_offset: int
    last_offset: int
    written_ms: int
    done: tuple[int, int] | None = None

    @property
    def is_done(self) -> bool:
        """Whether the log says that it was carried out."""
        return self.done == self.producer


def decided_key(prefix: str) -> bytes:
    """The key of the last record of a prefix's decisions."""
    return f"{_DECIDED} {prefix}".encode()


def done_key(prefix: str) -> bytes:
    """The key of the note that a decision was carried out."""
    return f"{_DONE} {prefix}".encode()


def part_key(prefix: str, number: int) -> bytes:
    """The key of a part of a decision."""
    return f"{_PART} {number} {prefix}".encode()


class Snapshot(NamedTuple):
    """The state of all prefixes before the offset `until`."""

    until: int
    prefixes: Mapping[str, LoggedDecision]

    def to_json(self) -> bytes:
        """The value of its record: a stored format."""
        return to_json(
            {"version": _SNAPSHOT_FORMAT, "until": self.until, "prefixes": self.prefixes}
        )

    @classmethod
    def from_json(cls, text: bytes | None) -> Snapshot | None:
        """Parse the value of a record; None where it is of another version, or not a snapshot."""
        try:
            fields = json.loads(text or b"")
            if fields["version"] != _SNAPSHOT_FORMAT:
                return None
            prefixes = {name: _logged(*each) for name, each in fields["prefixes"].items()}
            return cls(int(fields["until"]), prefixes)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def newest_snapshot(records: Iterable[Record]) -> Snapshot | None:
    """The snapshot that leaves the fewest records to fold; None without a snapshot."""
    snapshots = (Snapshot.from_json(each.value) for each in records if each.key == SNAPSHOT_KEY)
    return max(filter(None, snapshots), key=lambda snapshot: snapshot.until, default=None)


class LogState:
    """The last decision of each prefix, after the committed records so far."""

    def __init__(self, prefixes: Mapping[str, LoggedDecision]) -> None:
        self._known = dict(prefixes)
        self._done = {name: each.done for name, each in prefixes.items()}
        self._decided: dict[str, tuple[int, Record]] = {}  # not parsed; with the first offset
        self._first_parts: dict[str, int] = {}

    def fold(self, record: Record) -> None:
        """Take a committed record in. Records that a commit log does not write are ignored."""
        kind, _, name = (record.key or b"").decode(errors="replace").partition(" ")
        if kind == _DECIDED:
            self._decided[name] = (self._first_parts.pop(name, record.offset), record)
        elif kind == _DONE:
            self._done[name] = _identity(record.value)
        elif kind == _PART:
            number, _, name = name.partition(" ")
            if number == "0":
                self._first_parts[name] = record.offset

    def decision(self, prefix: str, where: str) -> LoggedDecision | None:
        """The last decision of a prefix; None if there is none.

        Raises:
            CommitLogError: Its record cannot be parsed.
        """
        if prefix in self._decided:
            first_offset, record = self._decided.pop(prefix)
            self._known.pop(prefix, None)
            if record.value is not None:
                head = DecisionHead.from_json(record.value, where)
                self._known[prefix] = LoggedDecision(
                    (head.driver_transaction.producer_id, head.driver_transaction.epoch),
                    head.micro_batch,
                    head.tasks,
                    first_offset,
                    record.offset,
                    record.timestamp,
                )
        known = self._known.get(prefix)
        return known and known._replace(done=self._done.get(prefix))

    def snapshot(self, until: int, now_ms: int, retention_ms: int) -> Snapshot:
        """The state of all prefixes, except prefixes that are done and were not written for long.

        Raises:
            CommitLogError: A record cannot be parsed.
        """
        where = "A decision in the commit log"
        names = self._known.keys() | self._decided.keys()
        decisions = {name: self.decision(name, f"{where} about {name!r}") for name in sorted(names)}
        return Snapshot(
            until,
            {
                name: each
                for name, each in decisions.items()
                if each and not (each.is_done and each.written_ms < now_ms - retention_ms)
            },
        )


def _identity(value: bytes | None) -> tuple[int, int] | None:
    try:
        producer_id, epoch = json.loads(value or b"")
        return int(producer_id), int(epoch)
    except (ValueError, TypeError):
        return None


def _logged(producer: list[int], micro_batch: list[Any] | None, *rest: Any) -> LoggedDecision:
    tasks, first_offset, last_offset, written_ms, done = rest
    return LoggedDecision(
        (int(producer[0]), int(producer[1])),
        MicroBatch(*micro_batch) if micro_batch else None,
        int(tasks),
        int(first_offset),
        int(last_offset),
        int(written_ms),
        (int(done[0]), int(done[1])) if done else None,
    )
