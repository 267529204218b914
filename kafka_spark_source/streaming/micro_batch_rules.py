"""How far a micro-batch goes, by its turn in the query and by where the run ends. Pure.

`micro_batches` requests the ends of the logs and the sizes of records; these rules say which of
them count.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from kafka_spark_source.planning.rate_limits import Offsets


class Turn(Enum):
    """The turn of a micro-batch in its query."""

    FIRST = "the first one of a new query"
    LATER = "a later one"


class Run(Enum):
    """The end of a run."""

    ENDLESS = "the run has no end"
    TARGET_UNKNOWN = "Trigger.AvailableNow: the ends of the logs, which are looked up now"
    TO_TARGET = "Trigger.AvailableNow: the ends that the logs had"


class Rule(Enum):
    """A rule about the end of a micro-batch."""

    STAY_IF_READ = "nothing is planned where all is read"
    WAIT = "minOffsetsPerTrigger and minOffsetsPerTopic can delay it"
    BEGIN_AGAIN = "re-created partitions begin again"
    KEEP_PARTITIONS = "only partitions that the start has"
    CHECK_TARGET = "all of the target must be in the logs"


# A run with Trigger.AvailableNow waits for no minimum. Before PySpark 4.2 a source
# cannot detect that trigger; the first micro-batch of a run does not wait either (`pacing`).
# Re-created partitions of a target are an error of the last rule. A partition that was added since
# the start was looked up is new to the second micro-batch, as if the first one had to run again.
RULES: Final[Mapping[Turn, Mapping[Run, frozenset[Rule]]]] = {
    Turn.FIRST: {
        Run.ENDLESS: frozenset({Rule.WAIT, Rule.BEGIN_AGAIN, Rule.KEEP_PARTITIONS}),
        Run.TARGET_UNKNOWN: frozenset({Rule.BEGIN_AGAIN, Rule.KEEP_PARTITIONS}),
        Run.TO_TARGET: frozenset({Rule.KEEP_PARTITIONS}),
    },
    Turn.LATER: {
        Run.ENDLESS: frozenset({Rule.STAY_IF_READ, Rule.WAIT, Rule.BEGIN_AGAIN}),
        Run.TARGET_UNKNOWN: frozenset({Rule.BEGIN_AGAIN}),
        Run.TO_TARGET: frozenset({Rule.CHECK_TARGET}),
    },
}


@dataclass(frozen=True, slots=True)
class Reach:
    """The partitions of the next micro-batch.

    Attributes:
        start: The end of the micro-batch before it, which may have other partitions.
        begin: Its first offset in each partition: from `start`, in a new partition the log's start.
        latest: How far it can go in each of these partitions, without limits.
    """

    start: Offsets
    begin: Offsets
    latest: Offsets

    @classmethod
    def of(cls, start: Offsets, available: Offsets, earliest: Offsets) -> Reach:
        """The reach of a micro-batch.

        Args:
            start: The end of the micro-batch before it.
            available: The ends of the logs that count.
            earliest: The starts of the logs of new partitions.
        """
        begin = {tp: at for tp, at in {**earliest, **start}.items() if tp in available}
        return cls(start, begin, {tp: available[tp] for tp in begin})

    def without(self, topics: Set[str]) -> Reach:
        """The reach if nothing new of these topics is read."""
        if not topics:
            return self
        latest = {
            tp: self.begin[tp] if tp.topic in topics else at for tp, at in self.latest.items()
        }
        return replace(self, latest=latest)

    @property
    def has_shorter_log(self) -> bool:
        """Whether a log ends before the start: a loss."""
        return any(self.latest.get(tp, at) < at for tp, at in self.start.items())
