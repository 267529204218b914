"""Puts small ranges together, so that one task reads several. Pure arithmetic.

A task costs some 20 to 60 ms in Spark, however few rows it has. Ranges that are worth a task of
their own stay alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from kafka_protocol.topic_partition import OffsetRange, TopicPartition

Task: TypeAlias = "tuple[OffsetRange, ...]"

# The records and bytes that one task should read, roughly. A task takes longer than its start
# then, and a cluster with many cores still has work for them.
_TASK_RECORDS: Final = 100_000
_TASK_BYTES: Final = 16 * 1024 * 1024

# From this part of a task on, a range stays alone.
_LARGE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Hints:
    """Hints about ranges beside their offsets; each may lack any.

    Attributes:
        leaders: The node id of each partition's leader.
        bytes_per_offset: The mean size of a record of each topic, from a sample.
    """

    leaders: Mapping[TopicPartition, int]
    bytes_per_offset: Mapping[str, float]


HintsFor: TypeAlias = "Callable[[Sequence[OffsetRange]], Hints]"


def no_hints(_: Sequence[OffsetRange]) -> Hints:
    """Nothing is known."""
    return Hints({}, {})


def coalesce(
    ranges: Sequence[OffsetRange], hints: Hints, min_tasks: int | None, max_records: int | None
) -> list[Task]:
    """The ranges of each task, sorted; ranges of one leader are together where possible.

    Args:
        ranges: Ranges with offsets at both ends, sorted.
        hints: Leaders and sizes of ranges, as far as they are known.
        min_tasks: The least number of tasks, if there are as many ranges: minPartitions.
        max_records: The largest number of offsets in a task: maxRecordsPerPartition.
    """
    limit = min(max_records or _TASK_RECORDS, _TASK_RECORDS)
    shares = {each: _share(each, hints, limit) for each in ranges}
    tasks: list[Task] = [(each,) for each in ranges if shares[each] >= _LARGE]
    small = [each for each in ranges if shares[each] < _LARGE]
    small.sort(key=lambda each: (hints.leaders.get(each.topic_partition, -1), each))
    total = math.fsum(shares[each] for each in small)
    count = min(len(small), max(math.ceil(total), (min_tasks or 0) - len(tasks), 1))
    return sorted([*tasks, *_filled(small, shares, count)])


def _share(wanted: OffsetRange, hints: Hints, max_records: int) -> float:
    """The share of a task that a range takes."""
    size = wanted.size * hints.bytes_per_offset.get(wanted.topic_partition.topic, 0.0)
    return max(wanted.size / max_records, size / _TASK_BYTES)


def _filled(
    ranges: Sequence[OffsetRange], shares: Mapping[OffsetRange, float], count: int
) -> Iterator[Task]:
    """Tasks of about the same size, `count` of them or more.

    The shares of a task's ranges are 1 at most, together. It has at most one range of a partition,
    since its ranges are fetched together.
    """
    per_task = math.fsum(shares[each] for each in ranges) / max(count, 1)
    task: dict[TopicPartition, OffsetRange] = {}
    size = 0.0
    for number, each in enumerate(ranges):
        is_full = size >= per_task > 0 or size + shares[each] > 1
        must_leave_some = len(ranges) - number < count
        if task and (is_full or must_leave_some or each.topic_partition in task):
            yield tuple(sorted(task.values()))
            task, size, count = {}, 0.0, count - 1
        task[each.topic_partition] = each
        size += shares[each]
    if task:
        yield tuple(sorted(task.values()))
