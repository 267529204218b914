"""Ranges of offsets on their way from a stream to the tables. Pure.

A range is a `PlannedRange` with offsets at both ends. Nothing here knows Spark or a broker.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Final

from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.reading.range_reader import PlannedRange

COLUMNS: Final = "topic string, partition int, from_offset long, until_offset long, topic_id string"
"""The columns of the rows, as Spark's DDL."""


def to_row(planned: PlannedRange) -> tuple[str, int, int, int, str | None]:
    """The values of COLUMNS."""
    (topic, partition), start, until = planned.wanted
    topic_id = None if planned.topic_id is None else str(planned.topic_id)
    return topic, partition, start, until, topic_id


def from_row(row: Sequence[Any]) -> PlannedRange:
    """The range of a row with COLUMNS."""
    topic, partition, start, until, topic_id = row
    wanted = OffsetRange(TopicPartition(topic, partition), start, until)
    return PlannedRange(wanted, None if topic_id is None else uuid.UUID(topic_id))


def by_topic(ranges: Iterable[PlannedRange]) -> dict[str, list[PlannedRange]]:
    """The ranges of each topic, in the given order."""
    topics: dict[str, list[PlannedRange]] = {}
    for each in ranges:
        topics.setdefault(each.wanted.topic_partition.topic, []).append(each)
    return topics


def joined(ranges: Iterable[PlannedRange]) -> list[PlannedRange]:
    """The same records in as few ranges as possible, sorted.

    Two ranges of a partition become one if no offset is between them, and both are of the same
    topic, not of one that was deleted and one that was created again. An offset that is in both, as
    after a checkpoint was moved back, is in the result once.
    """
    result: list[PlannedRange] = []
    for each in sorted(ranges, key=_order):
        if result and _continues(result[-1], each):
            partition, start, until = result[-1].wanted
            wanted = OffsetRange(partition, start, max(until, each.wanted.until_offset))
            result[-1] = PlannedRange(wanted, each.topic_id)
        else:
            result.append(each)
    return result


def without(ranges: Iterable[PlannedRange], others: Iterable[PlannedRange]) -> list[PlannedRange]:
    """The offsets of the first ranges that are not in the others."""
    left = [*ranges]
    for other in others:
        left = [part for each in left for part in _without(each, other)]
    return left


def count(ranges: Iterable[PlannedRange]) -> int:
    """The number of offsets: at least the number of records."""
    return sum(each.wanted.size for each in ranges)


def _without(each: PlannedRange, other: PlannedRange) -> Iterable[PlannedRange]:
    partition, start, until = each.wanted
    if other.wanted.topic_partition != partition or other.topic_id != each.topic_id:
        return [each]
    parts = (
        OffsetRange(partition, start, min(until, other.wanted.from_offset)),
        OffsetRange(partition, max(start, other.wanted.until_offset), until),
    )
    return [PlannedRange(part, each.topic_id) for part in parts if not part.is_empty]


def _order(each: PlannedRange) -> tuple[TopicPartition, str, OffsetRange]:
    return each.wanted.topic_partition, str(each.topic_id), each.wanted


def _continues(before: PlannedRange, after: PlannedRange) -> bool:
    is_same = before.wanted.topic_partition == after.wanted.topic_partition
    is_next = before.wanted.until_offset >= after.wanted.from_offset
    return is_same and is_next and before.topic_id == after.topic_id
