from __future__ import annotations

import pickle
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import datasource

from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.predicates import EVERYTHING, Predicate, Predicates, predicates_of

if not hasattr(datasource, "EqualTo"):
    pytest.skip("PySpark 4.0 has no filters", allow_module_level=True)

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

COMPARISONS = ["EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual", "LessThan"]
COMPARISONS += ["LessThanOrEqual"]


def spark_filter(name: str, column: str, value: Any) -> Any:
    return getattr(datasource, name)((column,), value)


def test_no_filter_keeps_everything() -> None:
    assert predicates_of([]) == EVERYTHING
    assert not EVERYTHING.narrow
    assert EVERYTHING.keep(TopicPartition("t", 0))
    assert EVERYTHING.positions == set()


def test_limits_of_whole_partitions() -> None:
    filters = [
        spark_filter("EqualTo", "partition", 2),
        spark_filter("GreaterThan", "offset", 5),
        spark_filter("GreaterThan", "timestamp", EPOCH),
    ]
    whole = predicates_of(filters).of_whole_partitions()
    assert whole == Predicates((Predicate("partition", "EqualTo", 2),))
    assert not whole.narrow


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("EqualTo", 2, [2]),
        ("EqualNullSafe", 2, [2]),
        ("GreaterThan", 2, [3, 4]),
        ("GreaterThanOrEqual", 2, [2, 3, 4]),
        ("LessThan", 2, [0, 1]),
        ("LessThanOrEqual", 2, [0, 1, 2]),
        ("In", (0, 3, 9), [0, 3]),
    ],
)
def test_partitions_are_kept(name: str, value: Any, kept: list[int]) -> None:
    predicates = predicates_of([spark_filter(name, "partition", value)])
    assert [n for n in range(5) if predicates.keep(TopicPartition("t", n))] == kept
    assert not predicates.narrow


def test_all_filters_must_hold() -> None:
    predicates = predicates_of(
        [
            spark_filter("In", "topic", ("t", "u")),
            spark_filter("GreaterThan", "partition", 0),
            spark_filter("GreaterThan", "offset", 4),
            spark_filter("LessThanOrEqual", "offset", 9),
            spark_filter("GreaterThanOrEqual", "offset", 2),
        ]
    )
    assert predicates.keep(TopicPartition("u", 1))
    assert not predicates.keep(TopicPartition("u", 0))
    assert not predicates.keep(TopicPartition("v", 1))
    assert (predicates.from_offset, predicates.until_offset) == (5, 10)
    assert pickle.loads(pickle.dumps(predicates)) == predicates


@given(st.sampled_from([*COMPARISONS, "In"]), st.integers(0, 20), st.integers(0, 20))
def test_no_offset_that_passes_a_filter_is_skipped(name: str, value: int, offset: int) -> None:
    given_value: Any = (value, value + 3) if name == "In" else value
    predicates = predicates_of([spark_filter(name, "offset", given_value)])
    if Predicate("offset", name, given_value).holds(offset):
        assert predicates.from_offset <= offset < predicates.until_offset
    elif name != "In":
        assert not predicates.from_offset <= offset < predicates.until_offset


@given(st.sampled_from([*COMPARISONS, "In"]), st.integers(1, 5_000), st.integers(1, 5))
def test_no_time_that_a_filter_holds_of_is_left_out(name: str, us: int, ms: int) -> None:
    at = EPOCH + timedelta(microseconds=us)
    value: Any = (at, at + timedelta(1)) if name == "In" else at
    since_ms = predicates_of([spark_filter(name, "timestamp", value)]).since_ms
    if Predicate("timestamp", name, value).holds(EPOCH + timedelta(milliseconds=ms)):
        assert since_ms is None or since_ms <= ms
    if name == "GreaterThanOrEqual":
        assert since_ms == -(-us // 1_000)
    if name == "GreaterThan":
        assert since_ms == us // 1_000 + 1


def test_the_latest_of_several_times_counts() -> None:
    at = EPOCH + timedelta(seconds=9)
    filters = [
        spark_filter("GreaterThanOrEqual", "timestamp", at),
        spark_filter("GreaterThanOrEqual", "timestamp", at - timedelta(seconds=1)),
    ]
    assert predicates_of(filters) == Predicates(since_ms=9_000)
    assert predicates_of(filters).positions == {9_000}
    assert predicates_of(filters).narrow


@pytest.mark.parametrize(
    "spark_filter",
    [
        datasource.IsNotNull(("offset",)),
        datasource.Not(datasource.EqualTo(("partition",), 1)),
        datasource.EqualTo(("value",), b"x"),
        datasource.EqualTo(("headers", "key"), "x"),
        datasource.StringStartsWith(("topic",), "t"),
        datasource.EqualTo(("partition",), None),
        datasource.EqualTo(("partition",), "1"),
        datasource.EqualTo(("partition",), True),
        datasource.In(("offset",), ()),
        datasource.In(("offset",), (1, None)),
        # An upper limit of times says nothing about offsets.
        datasource.LessThan(("timestamp",), EPOCH + timedelta(days=1)),
        datasource.LessThanOrEqual(("timestamp",), EPOCH + timedelta(days=1)),
        # Records without a time have -1 ms.
        datasource.GreaterThanOrEqual(("timestamp",), EPOCH - timedelta(days=1)),
        datasource.GreaterThanOrEqual(("timestamp",), datetime(2026, 1, 1)),
    ],
    ids=str,
)
def test_filters_that_are_not_understood_are_ignored(spark_filter: Any) -> None:
    assert predicates_of([spark_filter]) == EVERYTHING
