"""The ranges of offsets that tables did not get: kept beside the checkpoint of the query.

Spark's checkpoint says how far the query is. A table that could not be written is not so far: its
ranges are here, for each micro-batch after which there were such tables. The state of a micro-batch
is written when all other tables have it, and before Spark takes the micro-batch for done. So a
micro-batch that runs again after a crash begins with the state of the one before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import index
from typing import Any, Final

from pyspark.sql import SparkSession

from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables.files import exists
from kafka_spark_source.tables.kept import Kept
from kafka_spark_source.tables.ranges import from_row, to_row

_FOLDER: Final = "pykafka-tables"
_SLOTS: Final = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class LateTopic:
    """A topic whose table waits.

    Attributes:
        ranges: What the table did not get.
        since: The first micro-batch that it did not get.
        reason: Why.
        at_ms: When that micro-batch began, in ms since 1970: its table, or one of its tables, may
            have got a part of it.
    """

    ranges: tuple[PlannedRange, ...]
    since: int
    reason: str
    at_ms: float


@dataclass(frozen=True, slots=True)
class LateState:
    """The late topics after a micro-batch.

    Attributes:
        batch_id: The micro-batch; -1 before the first one that had late topics.
        topics: The late topics by their names.
        slot: Which file has it.
        number: Counts the states, because a micro-batch can have several: a late topic may be
            written after it.
    """

    batch_id: int = -1
    topics: Mapping[str, LateTopic] = field(default_factory=dict)
    slot: int = 0
    number: int = 0


class LateTopics:
    """The last states of one query, in the folder of its checkpoint.

    A new state never replaces the newest one, nor that with which the micro-batch begins.
    """

    def __init__(self, checkpoint: str) -> None:
        self._folder = f"{checkpoint.rstrip('/')}/{_FOLDER}"

    def before(self, spark: SparkSession, batch_id: int) -> LateState:
        """The state with which a micro-batch begins.

        Raises:
            KafkaConfigError: A file of the state cannot be read.
        """
        return _newest(each for each in self._states(spark) if each.batch_id < batch_id)

    def newest(self, spark: SparkSession) -> LateState:
        """The state after the last micro-batch.

        Raises:
            KafkaConfigError: As from `before`.
        """
        return _newest(self._states(spark))

    def save(
        self, spark: SparkSession, batch_id: int, topics: Mapping[str, LateTopic]
    ) -> LateState:
        """Write the state after a micro-batch.

        Raises:
            KafkaConfigError: As from `before`.
        """
        states = self._states(spark)
        newest, before = _newest(states), _newest(e for e in states if e.batch_id < batch_id)
        free = next(each for each in _SLOTS if each not in {newest.slot, before.slot})
        state = LateState(batch_id, topics, free, newest.number + 1)
        _KEPT.write(spark, f"{self._folder}/{state.slot}", _content_of(state))
        return state

    def _states(self, spark: SparkSession) -> list[LateState]:
        if not exists(spark, self._folder):
            return []
        return [
            replace(each, slot=slot)
            for slot in _SLOTS
            # An attempt that was cut off leaves none: its micro-batch runs again.
            for each in _KEPT.values(spark, f"{self._folder}/{slot}")
        ]


def _newest(states: Iterable[LateState]) -> LateState:
    return max(states, key=lambda each: (each.batch_id, each.number), default=LateState())


def _content_of(state: LateState) -> dict[str, Any]:
    topics = {
        topic: {
            "ranges": [to_row(each) for each in late.ranges],
            "since": late.since,
            "reason": late.reason,
            "at": late.at_ms,
        }
        for topic, late in state.topics.items()
    }
    return {"batch": state.batch_id, "number": state.number, "topics": topics}


def _state_of(content: Any) -> LateState:
    topics = {
        topic: LateTopic(
            tuple(map(from_row, late["ranges"])), late["since"], late["reason"], late["at"]
        )
        for topic, late in content["topics"].items()
    }
    return LateState(index(content["batch"]), topics, number=index(content["number"]))


_KEPT: Final = Kept(
    *("state of late tables, with the offsets that some tables did not get", 1, _state_of),
    "restore it from a backup of the checkpoint",
)
