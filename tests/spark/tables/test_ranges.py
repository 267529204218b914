"""Ranges on their way to tables: no offset is lost or added, and no two topics are mixed."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables.ranges import (
    COLUMNS,
    by_topic,
    count,
    from_row,
    joined,
    to_row,
    without,
)

A = uuid.UUID("00000000-0000-0000-0000-00000000000a")
B = uuid.UUID("00000000-0000-0000-0000-00000000000b")


def planned(
    start: int, until: int, topic_id: uuid.UUID | None = A, topic: str = "t", partition: int = 0
) -> PlannedRange:
    return PlannedRange(OffsetRange(TopicPartition(topic, partition), start, until), topic_id)


@st.composite
def ranges(draw: st.DrawFn, last: int = 12) -> PlannedRange:
    start = draw(st.integers(0, last))
    until = draw(st.integers(start, last))
    topic_id = draw(st.sampled_from([None, A, B]))
    return planned(start, until, topic_id, draw(st.sampled_from("tu")), draw(st.integers(0, 1)))


def offsets(given: list[PlannedRange]) -> Counter[tuple[TopicPartition, int, uuid.UUID | None]]:
    return Counter(
        (each.wanted.topic_partition, offset, each.topic_id)
        for each in given
        for offset in range(each.wanted.from_offset, each.wanted.until_offset)
    )


@given(st.text(), st.integers(0, 2**31 - 1), st.integers(0, 2**62), st.none() | st.uuids())
def test_a_row_becomes_the_range_again(
    topic: str, partition: int, start: int, topic_id: uuid.UUID | None
) -> None:
    given_range = planned(start, start + 2**62, topic_id, topic, partition)
    row = to_row(given_range)
    assert from_row(row) == given_range
    # As the state of late tables has it.
    assert from_row(json.loads(json.dumps(row))) == given_range


@pytest.mark.parametrize("row", [(), ("t", 0, 1), ("t", 0, 1, 2, "no id"), ("t", 0, 1, 2, A, 5)])
def test_what_is_no_range_is_an_error(row: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, AttributeError)):
        from_row(row)


def test_a_row_has_the_columns() -> None:
    names = [each.split(" ")[0] for each in COLUMNS.split(", ")]
    assert dict(zip(names, to_row(planned(3, 5)), strict=True)) == {
        **{"topic": "t", "partition": 0, "from_offset": 3, "until_offset": 5},
        "topic_id": str(A),
    }


@pytest.mark.spark
def test_the_columns_are_sparks_ddl(spark: SparkSession) -> None:
    schema = spark.createDataFrame([], COLUMNS).schema
    assert [each.dataType.simpleString() for each in schema] == [
        *("string", "int", "bigint", "bigint", "string"),
    ]


@given(st.lists(ranges(), max_size=12))
def test_joined_ranges_have_the_same_offsets(given_ranges: list[PlannedRange]) -> None:
    result = joined(given_ranges)
    assert offsets(result) == Counter(offsets(given_ranges).keys())
    assert len(result) <= len(given_ranges)
    assert count(result) == len(offsets(given_ranges))


@given(st.lists(ranges(), max_size=12), st.randoms(use_true_random=False))
def test_the_order_in_which_ranges_are_given_does_not_matter(
    given_ranges: list[PlannedRange], chance: Any
) -> None:
    shuffled = [*given_ranges]
    chance.shuffle(shuffled)
    assert joined(shuffled) == joined(given_ranges)
    assert joined(joined(given_ranges)) == joined(given_ranges)


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
    st.sampled_from([None, A]),
    st.randoms(use_true_random=False),
)
def test_parts_of_a_range_become_the_range(
    sizes: list[int], topic_id: uuid.UUID | None, chance: Any
) -> None:
    ends = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
    parts = [planned(*pair, topic_id) for pair in pairwise(ends)]
    chance.shuffle(parts)
    assert joined(parts) == [planned(0, ends[-1], topic_id)]


@pytest.mark.parametrize(
    "apart",
    [
        pytest.param([planned(0, 5), planned(5, 9, B)], id="another topic of the name"),
        pytest.param([planned(0, 5), planned(5, 9, None)], id="an id that was not known"),
        pytest.param([planned(0, 5), planned(5, 9, partition=1)], id="another partition"),
        pytest.param([planned(0, 5), planned(5, 9, topic="u")], id="another topic"),
        pytest.param([planned(0, 5), planned(6, 9)], id="an offset between them"),
        pytest.param([], id="no range"),
    ],
)
def test_ranges_that_stay_apart(apart: list[PlannedRange]) -> None:
    assert joined(apart) == apart
    assert joined(reversed(apart)) == apart


def test_an_offset_of_two_ranges_is_there_once() -> None:
    # As after the checkpoint was moved back.
    assert joined([planned(0, 9), planned(4, 7), planned(5, 12)]) == [planned(0, 12)]


def test_ranges_of_another_topic_of_the_name_keep_none_apart() -> None:
    assert len(joined([planned(0, 10), planned(0, 5, B), planned(5, 10, B)])) == 2


@given(st.lists(ranges(), max_size=12))
def test_a_joined_range_has_one_topic_id(given_ranges: list[PlannedRange]) -> None:
    for topic_id in (None, A, B):
        ours = [each for each in given_ranges if each.topic_id == topic_id]
        result = [each for each in joined(given_ranges) if each.topic_id == topic_id]
        assert offsets(result) == Counter(offsets(ours).keys())


def test_ranges_of_each_topic_keep_their_order() -> None:
    given_ranges = [planned(5, 9), planned(0, 1, topic="u"), planned(0, 5), planned(7, 8, B)]
    assert by_topic(iter(given_ranges)) == {
        "t": [given_ranges[0], given_ranges[2], given_ranges[3]],
        "u": [given_ranges[1]],
    }
    assert by_topic([]) == {}


def test_offsets_are_counted() -> None:
    assert count([]) == 0
    assert count([planned(5, 5), planned(0, 4), planned(2, 4, B), planned(0, 2**62)]) == 2**62 + 6


@given(st.lists(ranges(), max_size=6), st.lists(ranges(), max_size=6))
def test_what_is_left_without_other_ranges(
    given_ranges: list[PlannedRange], others: list[PlannedRange]
) -> None:
    left = without(joined(given_ranges), others)
    assert offsets(left).keys() == offsets(given_ranges).keys() - offsets(others).keys()
    assert max(offsets(left).values(), default=1) == 1
