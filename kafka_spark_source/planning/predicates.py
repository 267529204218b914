"""Spark's filters -> limits on partitions, offsets and timestamps, for planning. Pure.

Spark applies all filters to the rows again. So a filter that is not understood is ignored, and
only rows that a filter surely rejects may be skipped. An upper limit of `timestamp` cannot be used:
timestamps need not ascend with offsets, not even under LogAppendTime, since leaders have their own
clocks.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Final, NamedTuple

from kafka_protocol.topic_partition import TopicPartition

_NO_LIMIT: Final = 2**63 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND: Final = timedelta(milliseconds=1)


class Predicate(NamedTuple):
    """`column operator value`; the operator is the class name of Spark's filter."""

    column: str
    operator: str
    value: Any

    def holds(self, value: object) -> bool:
        """Whether a value of the column passes."""
        return _OPERATORS[self.operator](value, self.value)


@dataclass(frozen=True, slots=True)
class Predicates:
    """Limits on the rows to read.

    Attributes:
        of_partitions: Predicates on `topic` and `partition`.
        from_offset: The lowest offset.
        until_offset: The highest offset, exclusive.
        since_ms: The earliest timestamp, in ms since 1970; None for no limit.
    """

    of_partitions: tuple[Predicate, ...] = ()
    from_offset: int = 0
    until_offset: int = _NO_LIMIT
    since_ms: int | None = None

    def keep(self, topic_partition: TopicPartition) -> bool:
        """Whether a partition can hold rows within the limits."""
        return all(
            predicate.holds(getattr(topic_partition, predicate.column))
            for predicate in self.of_partitions
        )

    @property
    def narrow(self) -> bool:
        """Whether offset ranges may become smaller."""
        return (self.from_offset, self.until_offset, self.since_ms) != (0, _NO_LIMIT, None)

    def of_whole_partitions(self) -> Predicates:
        """The limits that leave out whole partitions only."""
        return Predicates(self.of_partitions)

    @property
    def positions(self) -> set[int]:
        """The timestamps to send in ListOffsets."""
        return set() if self.since_ms is None else {self.since_ms}


EVERYTHING: Final = Predicates()


def predicates_of(filters: Iterable[object]) -> Predicates:
    """The limits from PySpark 4.1's filters, known by their class names; a row must pass all."""
    usable = [predicate for each in filters if (predicate := _predicate(each)) is not None]
    from_offset, until_offset, since_ms = 0, _NO_LIMIT, None
    for column, name, value in usable:
        if column == "offset":
            lowest, highest = _INTERVALS[name](value)
            from_offset = max(from_offset, lowest)
            until_offset = min(until_offset, highest + 1)
        elif column == "timestamp":
            at_least = _since(name, value)
            since_ms = max(at_least, since_ms or 0) if at_least > 0 else since_ms
    return Predicates(
        of_partitions=tuple(each for each in usable if each.column in _OF_PARTITIONS),
        from_offset=from_offset,
        until_offset=until_offset,
        since_ms=since_ms,
    )


_OF_PARTITIONS: Final = frozenset({"topic", "partition"})

_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "EqualTo": operator.eq,
    "EqualNullSafe": operator.eq,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
    "In": lambda value, among: value in among,
}

# Operator -> the lowest and the highest whole number that pass.
_INTERVALS: Final[Mapping[str, Callable[[Any], tuple[int, int]]]] = {
    "EqualTo": lambda value: (value, value),
    "EqualNullSafe": lambda value: (value, value),
    "GreaterThan": lambda value: (value + 1, _NO_LIMIT - 1),
    "GreaterThanOrEqual": lambda value: (value, _NO_LIMIT - 1),
    "LessThan": lambda value: (0, value - 1),
    "LessThanOrEqual": lambda value: (0, value),
    "In": lambda among: (min(among), max(among)),
}

_TYPES: Final[Mapping[str, type]] = {
    "topic": str,
    "partition": int,
    "offset": int,
    "timestamp": datetime,
}


def _predicate(spark_filter: object) -> Predicate | None:
    """The filter as a predicate; None if it cannot be used."""
    name = type(spark_filter).__name__
    column = ".".join(getattr(spark_filter, "attribute", ()))
    value = getattr(spark_filter, "value", None)
    if name not in _OPERATORS or column not in _TYPES:
        return None
    values = tuple(value) if name == "In" and value is not None else (value,)
    if not values or not all(type(each) is _TYPES[column] for each in values):
        return None
    if column == "timestamp" and any(each.tzinfo is None for each in values):
        return None
    return Predicate(column, name, values if name == "In" else value)


def _since(name: str, value: Any) -> int:
    """The earliest timestamp that passes, in ms since 1970; 0 for no limit."""
    earliest: datetime = min(value) if name == "In" else value
    at_least = -((_EPOCH - earliest) // _MILLISECOND)  # rounded up: Kafka has whole ms
    if name == "GreaterThan" and _EPOCH + at_least * _MILLISECOND == earliest:
        return at_least + 1
    return 0 if name.startswith("LessThan") else at_least  # point: timestamp-limit
