"""Tables that are filled anew: which offsets, in which slices. Kept beside the checkpoint.

A table that was dropped would get the records from where the query is. A backfill has the offsets
before that. Its file never changes: the table itself says which slice was the last one.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import SparkSession

from kafka_protocol.client.clock import now_ms
from kafka_protocol.topic_partition import OffsetRange
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables.files import exists, listed, remove
from kafka_spark_source.tables.kept import Kept
from kafka_spark_source.tables.ranges import count, from_row, to_row

_FOLDER: Final = "pykafka-backfills"


@dataclass(frozen=True, slots=True)
class Backfill:
    """What a table gets in addition to the query's micro-batches.

    Attributes:
        id: Its commits carry it instead of the query's id.
        topic: The topic.
        ranges: The offsets.
        step: The most offsets of a slice.
        at_ms: When it was planned, in ms since 1970.
    """

    id: str
    topic: str
    ranges: tuple[PlannedRange, ...]
    step: int
    at_ms: float

    @classmethod
    def planned(cls, topic: str, ranges: Iterable[PlannedRange], step: int) -> Backfill:
        """A new one."""
        return cls(str(uuid.uuid4()), topic, tuple(ranges), step, float(now_ms()))

    def slices(self) -> list[list[PlannedRange]]:
        """The ranges, each cut into as many parts: one commit has the first parts, and so on."""
        total = -(-count(self.ranges) // self.step)
        return [
            [part for each in self.ranges if not (part := _part(each, n, total)).wanted.is_empty]
            for n in range(total)
        ]


def _part(each: PlannedRange, number: int, total: int) -> PlannedRange:
    partition, start, _ = each.wanted
    first, until = (start + each.wanted.size * n // total for n in (number, number + 1))
    return PlannedRange(OffsetRange(partition, first, until), each.topic_id)


class Backfills:
    """The unfinished backfills of one query, a file for each in the folder of its checkpoint.

    A topic has one. An older one, which was not removed before a crash, does not count.
    """

    def __init__(self, checkpoint: str) -> None:
        self._folder = f"{checkpoint.rstrip('/')}/{_FOLDER}"

    def all(self, spark: SparkSession) -> list[Backfill]:
        """The one of each topic, the oldest first.

        Raises:
            KafkaConfigError: A file cannot be read.
        """
        newest = {each.topic: each for each in self._read(spark)}
        return sorted(newest.values(), key=_age)

    def _read(self, spark: SparkSession) -> list[Backfill]:
        if not exists(spark, self._folder):
            return []
        _, folders = listed(spark, self._folder)
        paths = [f"{self._folder}/{each}" for each in folders if "/" not in each]
        return sorted((each for path in paths for each in _KEPT.values(spark, path)), key=_age)

    def add(self, spark: SparkSession, backfill: Backfill) -> None:
        """Keep a backfill, in the place of an older one of its topic."""
        _KEPT.write(spark, f"{self._folder}/{backfill.id}", _content_of(backfill))
        self._remove(spark, [each for each in self._of(spark, backfill) if each.id != backfill.id])

    def remove(self, spark: SparkSession, backfill: Backfill) -> None:
        """Forget a backfill, and older ones of its topic before it."""
        self._remove(spark, self._of(spark, backfill))

    def _of(self, spark: SparkSession, backfill: Backfill) -> list[Backfill]:
        return [each for each in self._read(spark) if each.topic == backfill.topic]

    def _remove(self, spark: SparkSession, backfills: Iterable[Backfill]) -> None:
        for each in backfills:
            path = f"{self._folder}/{each.id}"
            names, _ = listed(spark, path)
            remove(spark, path, [*names, ""])


def _age(backfill: Backfill) -> tuple[float, str]:
    return backfill.at_ms, backfill.id


def _content_of(backfill: Backfill) -> dict[str, Any]:
    return {
        "id": backfill.id,
        "topic": backfill.topic,
        "ranges": [to_row(each) for each in backfill.ranges],
        "step": backfill.step,
        "at": backfill.at_ms,
    }


def _backfill_of(content: Any) -> Backfill:
    ranges = tuple(map(from_row, content["ranges"]))
    step = max(int(content["step"]), 1)
    return Backfill(
        *(str(content["id"]), str(content["topic"]), ranges, step, float(content["at"]))
    )


_KEPT: Final = Kept("backfill of a table", 1, _backfill_of, "remove it, and fill the table anew")
