"""Small ranges share tasks; no range is lost, split or read twice."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.planning.coalescing import Hints, coalesce, no_hints

NO_HINTS = no_hints([])
SIZES = st.lists(st.sampled_from([0, 1, 7, 999, 30_000, 60_000, 200_000]), max_size=40)


def ranges_of(*sizes: int, topic: str = "t") -> list[OffsetRange]:
    return [
        OffsetRange(TopicPartition(topic, number), 5, 5 + size) for number, size in enumerate(sizes)
    ]


@given(
    sizes=SIZES,
    leaders=st.dictionaries(st.integers(0, 40), st.integers(0, 3)),
    min_tasks=st.none() | st.integers(1, 50),
    max_records=st.none() | st.integers(200_000, 300_000),
)
def test_each_range_is_in_one_task(
    sizes: list[int], leaders: dict[int, int], min_tasks: int | None, max_records: int | None
) -> None:
    ranges = ranges_of(*sizes)
    hints = Hints({TopicPartition("t", number): node for number, node in leaders.items()}, {})
    tasks = coalesce(ranges, hints, min_tasks, max_records)
    assert Counter(each for task in tasks for each in task) == Counter(ranges)
    assert tasks == sorted(tasks)
    assert all(list(task) == sorted(task) for task in tasks)
    assert len(tasks) >= min(min_tasks or 0, len(ranges))
    for task in tasks:
        total = sum(each.size for each in task)
        assert len(task) == 1 or total <= 100_000
        assert len({each.topic_partition for each in task}) == len(task)


def test_many_small_ranges_are_one_task() -> None:
    (task,) = coalesce(ranges_of(*[10] * 1_000), NO_HINTS, None, None)
    assert len(task) == 1_000


def test_empty_ranges_are_one_task() -> None:
    (task,) = coalesce(ranges_of(*[0] * 1_000), NO_HINTS, None, None)
    assert len(task) == 1_000


def test_large_ranges_stay_alone() -> None:
    tasks = coalesce(ranges_of(10, 50_000, 10), NO_HINTS, None, None)
    assert [[each.topic_partition.partition for each in task] for task in tasks] == [[0, 2], [1]]


def test_tasks_have_about_the_same_size() -> None:
    tasks = coalesce(ranges_of(*[15_000] * 10), NO_HINTS, None, None)
    assert [sum(each.size for each in task) for task in tasks] == [75_000, 75_000]


def test_leaders_stay_together() -> None:
    ranges = ranges_of(*[30_000] * 6)
    leaders = {each.topic_partition: number % 2 for number, each in enumerate(ranges)}
    tasks = coalesce(ranges, Hints(leaders, {}), None, None)
    assert [[each.topic_partition.partition for each in task] for task in tasks] == [
        [0, 2, 4],
        [1, 3, 5],
    ]


def test_bytes_count_where_they_are_known() -> None:
    ranges = ranges_of(100, 100, 100)
    assert len(coalesce(ranges, Hints({}, {"t": 100_000.0}), None, None)) == 3
    assert len(coalesce(ranges, Hints({}, {"u": 100_000.0}), None, None)) == 1


def test_as_many_tasks_as_asked_for() -> None:
    assert len(coalesce(ranges_of(*[10] * 8), NO_HINTS, 4, None)) == 4
    assert len(coalesce(ranges_of(*[10] * 8), NO_HINTS, 100, None)) == 8
    assert len(coalesce(ranges_of(10, 200_000, 10), NO_HINTS, 3, None)) == 3


def test_no_task_has_more_than_the_limit_of_records() -> None:
    tasks = coalesce(ranges_of(*[40] * 10), NO_HINTS, None, 100)
    assert [sum(each.size for each in task) for task in tasks] == [80] * 5


def test_ranges_of_one_partition_are_not_together() -> None:
    first = OffsetRange(TopicPartition("t", 0), 0, 10)
    second = OffsetRange(TopicPartition("t", 0), 10, 20)
    assert coalesce([first, second], NO_HINTS, None, None) == [(first,), (second,)]


def test_nothing() -> None:
    assert coalesce([], NO_HINTS, 3, None) == []
