"""Draws topics: their configuration, and the steps that write and change them. Pure.

The bytes of the records are not part of a plan, but follow from the seed of each step
(`records.py`): a smaller `count` gives the first of the same records, so that a plan can be cut
down. The `repr` of a plan is the expression that makes it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


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
    """

    topic: str
    partitions: int
    cleanup: str = "delete"
    timestamp_type: str = "CreateTime"
    steps: tuple[Step, ...] = ()

    @property
    def is_compacted(self) -> bool:
        """Whether readers are promised the newest value of each key only."""
        return self.cleanup != "delete"


def draw_plan(chance: random.Random, topic: str) -> TopicPlan:
    """A topic with its steps."""
    raise NotImplementedError


def draw_change(chance: random.Random, plan: TopicPlan) -> tuple[Step, ...]:
    """Steps that change a topic which was written by the plan."""
    raise NotImplementedError
