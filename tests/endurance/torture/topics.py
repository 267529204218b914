"""Draws topics: their configuration, and the steps that write and change them. Pure.

The bytes of the records are not part of a plan, but follow from the seed of each step
(`records.py`): a smaller `count` gives the first of the same records, so that a plan can be cut
down. The `repr` of a plan is the expression that makes it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

RETENTION_BYTES = "retention.bytes"
NO_LIMIT = "-1"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

_ROLL_MS = "200"


class Producing(NamedTuple):
    """How a producer makes batches; the sizes in bytes, the time in ms.

    Attributes:
        idempotent: Without it one request at a time is in flight, so that the order is certain.
    """

    codec: str = "none"
    batch_size: int = 16_384
    linger_ms: int = 5
    idempotent: bool = True


class Shape(NamedTuple):
    """Which keys, values, headers and timestamps records have: names of tables in `records.py`."""

    keys: str = "some"
    values: str = "small"
    headers: str = "none"
    timestamps: str = "now"


@dataclass(frozen=True)
class Write:
    """Records to all partitions, outside of transactions."""

    seed: int
    count: int
    shape: Shape = Shape()
    producing: Producing = Producing()


@dataclass(frozen=True)
class Transaction:
    """A transaction with the records of `write`."""

    write: Write
    committed: bool = True


@dataclass(frozen=True)
class DeleteRecords:
    """Deletes the first records of some partitions.

    Attributes:
        shares: Of partition 0, 1 and so on, the share of offsets that is deleted, 0.0 to 1.0; the
            partitions after the last share keep all.
    """

    shares: tuple[float, ...]


@dataclass(frozen=True)
class AddPartitions:
    """Raises the number of partitions to `partitions`; nothing if there are as many."""

    partitions: int


@dataclass(frozen=True)
class Recreate:
    """Deletes the topic, and makes it again with the same configuration and `partitions`."""

    partitions: int


@dataclass(frozen=True)
class Compact:
    """Waits until the leaders have compacted all but their active segments."""


@dataclass(frozen=True)
class Retain:
    """Retention deletes old segments, so that at most `share` of the bytes is left; then none."""

    share: float


Step = Write | Transaction | DeleteRecords | AddPartitions | Recreate | Compact | Retain


class TopicPlan(NamedTuple):
    """A topic, before anything exists.

    Attributes:
        cleanup: `delete`, `compact` or `compact,delete`: the topic's cleanup.policy.
        timestamp_type: `CreateTime` or `LogAppendTime`: its message.timestamp.type.
        steps: In order.
        rolls: Whether segments are closed soon: only closed ones are compacted, or deleted.
    """

    topic: str
    partitions: int
    cleanup: str = "delete"
    timestamp_type: str = "CreateTime"
    steps: tuple[Step, ...] = ()
    rolls: bool = False

    @property
    def is_compacted(self) -> bool:
        """Whether readers are promised the newest value of each key only."""
        return self.cleanup != "delete"

    @property
    def config(self) -> dict[str, str]:
        """The topic's configuration, from the start to the end.

        All that `Retain` changes and restores is in it: a broker that restarts merges the
        configurations of both lives of a topic that was made again.
        """
        return {
            "min.insync.replicas": "2",
            "cleanup.policy": self.cleanup,
            "message.timestamp.type": self.timestamp_type,
            "retention.ms": "-1",
            RETENTION_BYTES: NO_LIMIT,
            "min.cleanable.dirty.ratio": "0.0",
            "delete.retention.ms": "100",
            **({"segment.ms": _ROLL_MS} if self.rolls else {}),
        }


Draw = Callable[[random.Random, "TopicPlan"], tuple[Step, ...]]

_BATCH_BYTES = {1: 1, 300: 1, 16_384: 4, 200_000: 2, 1_000_000: 2}
_LINGER_MS = (0, 5, 50)
_LARGE_WRITE = 0.03
_LOG10_COUNT = (1.7, 3.3)
_LOG10_LARGE_COUNT = (3.7, 4.0)
# Small batches take a request for a few records each; shapes with more bytes have fewer records.
_MOST_IN_BATCHES = {1: 20, 300: 80}
_MOST_RECORDS = {"large": 4, "kilobytes": 300, "long": 1_000, "many": 500}
_VALUES = {"tiny": 2, "small": 6, "mixed": 3, "kilobytes": 1, "none": 0.3}
_TIMESTAMPS = {"now": 4, "in order": 2, "out of order": 2, "same": 1, "ancient": 1}
_COMMITS = 0.6


def draw_plan(chance: random.Random, topic: str, kind: str | None = None) -> TopicPlan:
    """A topic with its steps; `kind` is a key of `KINDS`, and drawn by default."""
    drawn = chance.choices(list(KINDS), [each.weight for each in KINDS.values()])[0]
    of_kind = KINDS[kind or drawn]
    plan = TopicPlan(
        topic,
        partitions=chance.randint(1, 6),
        cleanup=chance.choice(of_kind.cleanups),
        timestamp_type=chance.choices(("CreateTime", "LogAppendTime"), (4, 1))[0],
    )
    return plan._replace(steps=of_kind.steps(chance, plan), rolls=of_kind.rolls)


def draw_change(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    """Steps that change a topic which was written by the plan."""
    changes = [_written, _in_transactions, _added, _recreated]
    if plan.is_compacted:
        changes.append(_compacted_again)
    if "delete" in plan.cleanup:
        changes.append(_deleted)
    if plan.rolls and not plan.is_compacted:
        changes.append(_retained_again)
    return chance.choice(changes)(chance, plan)


def partitions_after(plan: TopicPlan) -> int:
    """The number of partitions after all steps."""
    count = plan.partitions
    for step in plan.steps:
        match step:
            case AddPartitions(partitions):
                count = max(count, partitions)
            case Recreate(partitions):
                count = partitions
    return count


def _write(chance: random.Random, plan: TopicPlan, values: str | None = None) -> Write:
    drawn_values = chance.choices(list(_VALUES), list(_VALUES.values()))[0]
    # Brokers refuse records without a key in compacted topics.
    keys = chance.choice(("few", "few", "unique") if plan.is_compacted else _PLAIN_KEYS)
    shape = Shape(
        keys,
        values or drawn_values,
        chance.choice(("none", "none", "some", "odd", "many")),
        chance.choices(list(_TIMESTAMPS), list(_TIMESTAMPS.values()))[0],
    )
    is_large = chance.random() < _LARGE_WRITE
    count = int(10 ** chance.uniform(*(_LOG10_LARGE_COUNT if is_large else _LOG10_COUNT)))
    most = min((_MOST_RECORDS[name] for name in shape if name in _MOST_RECORDS), default=count)
    producing = Producing(
        chance.choice(CODECS),
        chance.choices(list(_BATCH_BYTES), list(_BATCH_BYTES.values()))[0],
        chance.choice(_LINGER_MS),
        idempotent=chance.random() < 0.7,
    )
    most = min(most, _MOST_IN_BATCHES.get(producing.batch_size, most))
    return Write(chance.getrandbits(32), min(count, most), shape, producing)


_PLAIN_KEYS = ("none", "some", "few", "unique", "long")


def _written(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    return tuple(_write(chance, plan) for _ in range(chance.randint(1, 3)))


def _large(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    return (_write(chance, plan), _write(chance, plan, "large"), _write(chance, plan))


def _in_transactions(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    return tuple(
        Transaction(write, committed=chance.random() < _COMMITS) if chance.random() < 0.8 else write
        for write in (_write(chance, plan) for _ in range(chance.randint(2, 4)))
    )


def _compacted(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    more = chance.choice((_written, _in_transactions))
    return (
        *_in_transactions(chance, plan),
        *_compacted_again(chance, plan),
        *more(chance, plan),
    )


def _compacted_again(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    return (_write(chance, plan), Compact())


def _retained(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    before = tuple(_write(chance, plan) for _ in range(3))
    after = _in_transactions(chance, plan) if chance.random() < 0.5 else ()
    return (*before, *_in_transactions(chance, plan), *_retained_again(chance, plan), *after)


def _retained_again(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    return (Retain(round(chance.uniform(0.05, 0.6), 2)),)


def _deleted(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    shares = (0.0, 1.0, *(round(chance.random(), 3) for _ in range(4)))
    count = chance.randint(1, 6)
    deletion = DeleteRecords(tuple(chance.choice(shares) for _ in range(count)))
    return (deletion, _write(chance, plan)) if chance.random() < 0.5 else (deletion,)


def _deleted_later(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    return (*_in_transactions(chance, plan), *_deleted(chance, plan))


def _added(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    more = AddPartitions(partitions_after(plan) + chance.randint(1, 2))
    return (more, _write(chance, plan)) if chance.random() < 0.8 else (more,)


def _added_later(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    return (*_written(chance, plan), *_added(chance, plan))


def _recreated(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    more = chance.choice((_written, _in_transactions))
    return (Recreate(chance.randint(1, 6)), *more(chance, plan))


def _recreated_later(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    return (*_in_transactions(chance, plan), *_recreated(chance, plan))


class Kind(NamedTuple):
    """A kind of topic.

    Attributes:
        steps: Draws the steps of a topic that has none yet.
        weight: How often it is drawn, relative to the others.
        cleanups: The cleanup policies to choose from.
        rolls: As in `TopicPlan`.
    """

    steps: Draw
    weight: int
    cleanups: tuple[str, ...] = ("delete",)
    rolls: bool = False


KINDS = {
    "plain": Kind(_written, 4),
    "transactions": Kind(_in_transactions, 4),
    "large": Kind(_large, 2),
    "compacted": Kind(_compacted, 2, ("compact", "compact", "compact,delete"), rolls=True),
    "retained": Kind(_retained, 2, rolls=True),
    "deleted": Kind(_deleted_later, 2),
    "added": Kind(_added_later, 2),
    "recreated": Kind(_recreated_later, 2),
}
