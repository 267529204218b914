"""A truth that no brokers have, for the tests of what is pure."""

from __future__ import annotations

from collections.abc import Sequence

from tests.endurance.torture.rows import PartitionTruth, Row, TopicTruth
from tests.endurance.torture.topics import TopicPlan, Write

BEGUN_MS = 1_800_000_000_000
FIRST_MS = 1_700_000_000_000


def row(topic: str, partition: int, offset: int) -> Row:
    """A row whose key is null for some offsets, and whose timestamps ascend."""
    key = b"key %d" % offset if offset % 3 else None
    headers = (("a", b"1"), ("a", None)) if offset % 2 else ()
    value = b"value %d" % offset
    return Row(topic, partition, offset, FIRST_MS + offset * 10, 0, key, value, headers)


def partition_of(rows: Sequence[Row], start: int, end: int) -> PartitionTruth:
    """A partition without aborted rows."""
    return PartitionTruth(start, end, end, tuple(rows), tuple(rows), tuple(rows), frozenset())


def topic_of(topic: str, partitions: int = 2, count: int = 20, start: int = 0) -> TopicTruth:
    """A topic with so many offsets in each partition; the first ones may be deleted."""
    of = {
        each: partition_of([row(topic, each, n) for n in range(start, count)], start, count)
        for each in range(partitions)
    }
    return TopicTruth(topic, TopicPlan(topic, partitions, steps=(Write(1, count),)), of)


TRUTH = {"a": topic_of("a"), "b": topic_of("b", 3, 50, 7), "c": topic_of("c", 1, 1)}
