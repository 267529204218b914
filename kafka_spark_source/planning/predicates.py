"""Spark's filters -> what they say about partitions, offsets and times, for planning. Pure.

Only what is certain is used: of a filter that is not understood, nothing is said. Spark applies all
filters once more, so what is read in vain does no harm, and what is left out must be certain.
An upper limit of `timestamp` never is: the times of records need not ascend with their offsets,
not even under LogAppendTime, since leaders have clocks of their own.
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
    """`column operator value`; the operator is the name of Spark's class for the filter."""

    column: str
    operator: str
    value: Any

    def holds(self, value: object) -> bool:
        """Whether it is true of a value of the column."""
        return _OPERATORS[self.operator](value, self.value)


@dataclass(frozen=True, slots=True)
class Predicates:
    """What a row has to fulfil.

    Attributes:
        of_partitions: Predicates on `topic` and `partition`.
        from_offset: The lowest offset that can be of use.
        until_offset: The offset from which on none is.
        since_ms: Rows have to be as young as this, in ms since 1970; None where any age will do.
    """

    of_partitions: tuple[Predicate, ...] = ()
    from_offset: int = 0
    until_offset: int = _NO_LIMIT
    since_ms: int | None = None

    def keep(self, topic_partition: TopicPartition) -> bool:
        """Whether a partition can hold such rows."""
        return all(
            predicate.holds(getattr(topic_partition, predicate.column))
            for predicate in self.of_partitions
        )

    @property
    def narrow(self) -> bool:
        """Whether ranges of offsets become smaller."""
        return (self.from_offset, self.until_offset, self.since_ms) != (0, _NO_LIMIT, None)

    @property
    def positions(self) -> set[int]:
        """What leaders have to be asked for, as ListOffsets takes it."""
        return set() if self.since_ms is None else {self.since_ms}


EVERYTHING: Final = Predicates()


def predicates_of(filters: Iterable[object]) -> Predicates:
    """What filters of Spark's say, which must all hold of a row.

    Args:
        filters: Of `pyspark.sql.datasource`, since PySpark 4.1; told by the names of their classes.
    """
    usable = [predicate for each in filters if (predicate := _predicate(each)) is not None]
    from_offset, until_offset = 0, _NO_LIMIT
    since_ms: int | None = None
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

# Operator -> the lowest and the highest whole number that it holds of.
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
    """The filter as a predicate; None where nothing is to be said."""
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
    """The least time, in ms since 1970, of a row that the predicate holds of."""
    youngest: datetime = min(value) if name == "In" else value
    at_least = -((_EPOCH - youngest) // _MILLISECOND)  # rounded up: Kafka's times are whole ms
    if name == "GreaterThan" and _EPOCH + at_least * _MILLISECOND == youngest:
        return at_least + 1
    return 0 if name.startswith("LessThan") else at_least
