"""Histories of rows in a database, as Debezium writes them, and the tables that they must give.

A history has a few rows. Its operations give records of a topic, which are delivered in rounds: in
order, again after a crash, after a rewind, and from a new checkpoint. What the table must have is
computed from the database alone: the newest delivered record of each key.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

ROUNDS: Final = 5
ADDED_IN: Final = 2
"""The round from which on rows have the column `added`: the query was started again."""
WIDER_IN: Final = 3
"""The round from which on `size` is a bigint."""

_KEYS: Final = 4
_LATE: Final = "late"
_MAX_OPS: Final = 13
# Between the sequences of two changes there is room for a late one of each operation.
_LSN_STEP: Final = _MAX_OPS + 1
# Kind -> its weight. `keep` leaves a TOAST value as it is; `again` is Debezium after a restart.
_KINDS: Final = {
    **{"insert": 6, "update": 5, "keep": 5, "delete": 3, "rekey": 5, "back": 1},
    **{"again": 2, "equal": 2, _LATE: 1},
}
_ONLY_BY_VALUES: Final = {"again", "equal", _LATE}


class Config(NamedTuple):
    """How a table is filled.

    Attributes:
        by_values: By `source.lsn`, from two partitions; else by offsets, from one.
        history: With all versions.
        before: An update of the key is one event with `before`, as of a table without a key.
        tombstones: Deleted rows are kept.
        adds: `added` is added.
    """

    by_values: bool = False
    history: bool = False
    before: bool = False
    tombstones: bool = True
    adds: bool = True

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `apply_changes`."""
        order = {"sequence_by": "source.lsn"} if self.by_values else {}
        kept = {"history": True} if self.history else {"tombstones": self.tombstones}
        return {"keys": ["case", "id"], "evolve": True, **order, **kept}


class Op(NamedTuple):
    """An operation: its kind, and two rows; those that are not possible do nothing."""

    kind: str
    row: int
    other: int


@dataclass(frozen=True)
class History:
    """Operations, and for each round which of them are delivered: from, until, how often."""

    ops: tuple[Op, ...]
    rounds: tuple[tuple[int, int, int], ...]

    def smaller(self) -> Iterator[History]:
        """Histories with less."""
        for at, (begin, end, times) in enumerate(self.rounds):
            previous = max((each[1] for each in self.rounds[:at]), default=0)
            if times > 1:
                yield self._with_round(at, (begin, end, 1))
            if begin < previous:
                yield self._with_round(at, (previous, end, 1))
        for at, each in enumerate(self.ops):
            if each.kind != "none":
                less = (*self.ops[:at], Op("none", 0, 0), *self.ops[at + 1 :])
                yield replace(self, ops=less)

    def _with_round(self, at: int, given: tuple[int, int, int]) -> History:
        return replace(self, rounds=(*self.rounds[:at], given, *self.rounds[at + 1 :]))


@dataclass(frozen=True)
class Record:
    """A record of a topic.

    Attributes:
        values: name, note, size and added; None for a delete.
        is_sent: Whether `note` is in it.
        old: The key of the row before, if `before` tells it.
    """

    op: str
    id: int
    lsn: int
    ts: int
    partition: int
    offset: int
    values: tuple[str, str | None, int, str] | None
    is_sent: bool = True
    old: int | None = None

    @property
    def order(self) -> tuple[int, int]:
        """Its place among the changes of its key."""
        return self.lsn, self.offset


def draw(config: Config, chance: random.Random) -> History:
    """A history by chance."""
    kinds = {
        each: weight
        for each, weight in _KINDS.items()
        if config.by_values or each not in _ONLY_BY_VALUES
    }
    if config.history and config.adds:
        kinds.pop("again", None)  # it is a version of its own where only it has the column
    names = chance.choices([*kinds], [*kinds.values()], k=chance.randint(3, _MAX_OPS))
    # Two different changes with one sequence, of which one is repeated, are in no order.
    if "equal" in names:
        names = [each if each not in {"again", _LATE} else "keep" for each in names]
    ops = tuple(Op(each, chance.randrange(_KEYS), chance.randrange(_KEYS)) for each in names)
    return History(ops, tuple(_rounds(ops, config, chance)))


def _rounds(
    ops: Sequence[Op], config: Config, chance: random.Random
) -> Iterator[tuple[int, int, int]]:
    at = 0
    for number in range(ROUNDS):
        end = len(ops) if number == ROUNDS - 1 else chance.randint(at, len(ops))
        # Two different changes with one sequence are in order if one of them is in the table.
        end = next((each for each in range(at + 1, end) if ops[each].kind == "equal"), end)
        begin = chance.choice([at, at, at, 0, chance.randint(0, at)])
        if at < end and ops[at].kind == "equal":
            begin = at
        yield begin, end, chance.choice([1, 1, 1, 2])
        at = end


def records_of(history: History, config: Config) -> list[list[Record]]:
    """The records of each operation."""
    return _Database(config).run(history.ops)


class _Database:
    def __init__(self, config: Config) -> None:
        self._config = config
        self._rows: dict[int, tuple[str, str | None, int, str]] = {}
        self._newest: dict[int, Record] = {}
        self._offsets = [0, 0]
        self._lsn = 0
        self._step = 0

    def run(self, ops: Sequence[Op]) -> list[list[Record]]:
        found: list[list[Record]] = []
        for self._step, op in enumerate(ops):
            new = [*self._records(op, found)]
            for each in new:
                kept = self._newest.get(each.id)
                if kept is None or each.order > kept.order:
                    self._newest[each.id] = each
            found.append(new)
        return found

    def _records(self, op: Op, before: Sequence[Sequence[Record]]) -> Iterator[Record]:
        row = self._rows.get(op.row)
        self._lsn += _LSN_STEP
        if op.kind == "insert" and row is None:
            yield self._put("c", op.row, self._values(f"n{self._step}"))
        elif op.kind in {"update", "equal"} and row is not None:
            lsn = self._newest[op.row].lsn if op.kind == "equal" else self._lsn
            yield replace(self._put("u", op.row, self._values(f"u{self._step}")), lsn=lsn)
        elif op.kind == "keep" and row is not None:
            kept = (f"k{self._step}", row[1], self._step, f"a{self._step}")
            yield replace(self._put("u", op.row, kept), is_sent=row[1] is None)
        elif op.kind == "delete" and row is not None:
            yield self._delete(op.row)
        elif op.kind in {"rekey", "back"} and row is not None and op.other not in self._rows:
            yield from self._rekey(op.row, op.other, row)
            if op.kind == "back":
                self._lsn += _LSN_STEP
                yield from self._rekey(op.other, op.row, self._rows[op.other])
        elif op.kind == "again":
            for each in [each for group in before[-op.other :] for each in group if op.other]:
                yield replace(each, offset=self._offset(each.partition))
        elif op.kind == _LATE and row is not None:
            # No two with one sequence: those are refused in one micro-batch.
            newest = self._newest[op.row]
            lsn, ts = newest.lsn - self._step, newest.ts - self._step
            late = (f"late{self._step}", row[1], self._step, f"a{self._step}")
            yield replace(self._record("u", op.row, late), lsn=lsn, ts=ts)

    def _rekey(self, old: int, new: int, row: tuple[str, str | None, int, str]) -> Iterator[Record]:
        values = (f"r{self._step}", row[1], self._step, f"a{self._step}")
        if self._config.before:
            del self._rows[old]
            self._rows[new] = values
            updated = self._record("u", new, values)
            yield replace(updated, old=old, is_sent=row[1] is None)
            return
        yield self._delete(old)
        yield replace(self._put("c", new, values), is_sent=row[1] is None)

    def _values(self, name: str) -> tuple[str, str | None, int, str]:
        note = None if self._step % 5 == 4 else f"long {name}"
        return name, note, self._step, f"a{self._step}"

    def _put(self, op: str, id_: int, values: tuple[str, str | None, int, str]) -> Record:
        self._rows[id_] = values
        return self._record(op, id_, values)

    def _delete(self, id_: int) -> Record:
        del self._rows[id_]
        deleted = self._record("d", id_, None)
        self._offset(deleted.partition)  # of the tombstone
        return deleted

    def _record(self, op: str, id_: int, values: tuple[str, str | None, int, str] | None) -> Record:
        partition = id_ % 2 if self._config.by_values else 0
        offset = self._offset(partition)
        return Record(op, id_, self._lsn, self._lsn, partition, offset, values)

    def _offset(self, partition: int) -> int:
        self._offsets[partition] += 1
        return self._offsets[partition]


@dataclass(frozen=True)
class Change:
    """A change that was delivered, with the values that the table can have; None for a delete."""

    id: int
    order: tuple[int, ...]
    lsn: int
    offset: int
    ts: int
    values: tuple[Any, ...] | None


def expected(history: History, config: Config, rounds: int) -> dict[tuple[Any, ...], Any]:
    """The rows after some rounds.

    Of a table without history the id, with the other values; of one with history the id, the time
    and the offset, with the other values, the time of the next change, and whether it is current.
    """
    by_key: dict[int, list[Change]] = {}
    for each in sorted(_delivered(history, config, rounds), key=lambda change: change.order):
        by_key.setdefault(each.id, []).append(each)
    if not config.history:
        newest = {(id_,): changes[-1].values for id_, changes in by_key.items()}
        return {id_: values for id_, values in newest.items() if values is not None}
    versions: dict[tuple[Any, ...], Any] = {}
    for id_, changes in by_key.items():
        different = [
            each
            for each, before in zip(changes, [None, *changes], strict=False)
            if before is None or (each.lsn, each.values) != (before.lsn, before.values)
        ]
        for each, after in zip(different, [*different[1:], None], strict=True):
            if each.values is not None:
                until = None if after is None else after.ts
                versions[id_, each.ts, each.offset] = (*each.values, until, after is None)
    return versions


def _delivered(history: History, config: Config, rounds: int) -> Iterator[Change]:
    records = records_of(history, config)
    for at, group in enumerate(records):
        seen = [
            number
            for number, (begin, end, _) in enumerate(history.rounds[:rounds])
            if begin <= at < end
        ]
        for record in group if seen else ():
            order = (record.lsn, record.offset) if config.by_values else (record.offset,)
            values: tuple[Any, ...] | None = record.values
            if values is not None and not (config.adds and seen[-1] >= ADDED_IN):
                values = (*values[:3], None)
            change = Change(record.id, order, record.lsn, record.offset, record.ts, values)
            yield change
            if record.old is not None:
                yield replace(change, id=record.old, values=None)
