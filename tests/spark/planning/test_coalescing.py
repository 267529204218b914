"""Small ranges share tasks; no range is lost, split or read twice."""

from __future__ import annotations

from collections import Counter

import pytest
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


@pytest.mark.parametrize(
    ("sizes", "min_tasks", "max_records", "tasks"),
    [
        pytest.param([], 3, None, [], id="nothing"),
        pytest.param([10] * 1_000, None, None, [[10] * 1_000], id="small"),
        pytest.param([0] * 1_000, None, None, [[0] * 1_000], id="empty"),
        pytest.param([10, 50_000, 10], None, None, [[10, 10], [50_000]], id="a large one"),
        pytest.param([15_000] * 10, None, None, [[15_000] * 5] * 2, id="tasks of the same size"),
        pytest.param([10] * 8, 4, None, [[10, 10]] * 4, id="as many tasks as asked for"),
        pytest.param([10] * 8, 100, None, [[10]] * 8, id="more tasks than ranges"),
        pytest.param([10, 200_000, 10], 3, None, [[10], [200_000], [10]], id="a large one of 3"),
        pytest.param([40] * 10, None, 100, [[40, 40]] * 5, id="a limit of records"),
    ],
)
def test_which_ranges_share_a_task(
    sizes: list[int], min_tasks: int | None, max_records: int | None, tasks: list[list[int]]
) -> None:
    found = coalesce(ranges_of(*sizes), NO_HINTS, min_tasks, max_records)
    assert [[each.size for each in task] for task in found] == tasks


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


def test_ranges_of_one_partition_are_not_together() -> None:
    first = OffsetRange(TopicPartition("t", 0), 0, 10)
    second = OffsetRange(TopicPartition("t", 0), 10, 20)
    assert coalesce([first, second], NO_HINTS, None, None) == [(first,), (second,)]
