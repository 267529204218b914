"""Splitting ranges, with the results of Spark's connector."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.planning.splitting import split

Pairs = list[tuple[int, int]]


def ranges_of(pairs: Pairs) -> list[OffsetRange]:
    return [OffsetRange(TopicPartition("t", i), *pair) for i, pair in enumerate(pairs)]


def pairs_of(ranges: list[OffsetRange]) -> Pairs:
    return [(start, until) for _, start, until in ranges]


# The results of Spark's connector.
VECTORS = [
    ([(1, 5), (1, 21)], 4, None, [(1, 5), (1, 7), (7, 14), (14, 21)]),
    ([(1, 11)], 3, None, [(1, 4), (4, 7), (7, 11)]),
    (
        [(0, 10), (0, 10), (0, 1)],
        6,
        None,
        [(0, 3), (3, 6), (6, 10), (0, 3), (3, 6), (6, 10), (0, 1)],
    ),
    (
        [(0, 500), (0, 12_000), (0, 15_001)],
        6,
        None,
        [(0, 500), (0, 6_000), (6_000, 12_000), (0, 5_000), (5_000, 10_000), (10_000, 15_001)],
    ),
    (
        [(0, 10_000), (0, 15_000), (0, 20_000)],
        9,
        None,
        [(at, at + 5_000) for end in (10_000, 15_000, 20_000) for at in range(0, end, 5_000)],
    ),
    ([(1, 2), (1, 1_001)], 4, None, [(1, 2), (1, 334), (334, 667), (667, 1_001)]),
    ([(1, 6)], None, 4, [(1, 3), (3, 6)]),
    (
        [(1, 40), (1, 50), (1, 60)],
        None,
        20,
        [(1, 20), (20, 40), (1, 17), (17, 33), (33, 50), (1, 20), (20, 40), (40, 60)],
    ),
    ([(1, 40)], 4, 20, [(1, 10), (10, 20), (20, 30), (30, 40)]),
    ([(1, 40)], 1, 20, [(1, 20), (20, 40)]),
    # Empty ranges are dropped, and nothing is split without need.
    ([(4, 4), (0, 9)], 1, None, [(0, 9)]),
    ([(0, 3), (0, 9)], 2, None, [(0, 3), (0, 9)]),
    # No part is smaller than one offset.
    ([(0, 3), (7, 8)], 2**31 - 1, None, [(0, 1), (1, 2), (2, 3), (7, 8)]),
    ([], 3, 5, []),
]


@pytest.mark.parametrize(("whole", "min_partitions", "max_records", "parts"), VECTORS, ids=str)
def test_ranges_are_split_as_by_sparks_connector(
    whole: Pairs, min_partitions: int | None, max_records: int | None, parts: Pairs
) -> None:
    assert pairs_of(split(ranges_of(whole), min_partitions, max_records)) == parts


sizes = st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 500)), min_size=1, max_size=5)
limits = st.none() | st.integers(1, 60)


@given(sizes, limits, limits)
def test_parts_are_the_whole_in_order(
    starts_and_sizes: Pairs, min_partitions: int | None, max_records: int | None
) -> None:
    whole = ranges_of([(start, start + size) for start, size in starts_and_sizes])
    parts = split(whole, min_partitions, max_records)
    for each in whole:
        mine = [part for part in parts if part.topic_partition == each.topic_partition]
        joined = [offset for part in mine for offset in range(part[1], part[2])]
        assert joined == [*range(each[1], each[2])]
        if max_records is not None:
            assert all(until - start <= max_records for _, start, until in mine)
