"""The versions of a micro-batch's keys. `tests/change_data` applies them to real tables."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from kafka_spark_source.changes.versions import all_versions
from tests.spark.changes.test_arguments import arguments
from tests.spark.changes.test_rows import COLUMNS, changes, row
from tests.spark_session import SPARK_ERRORS
from tests.tiers import first_are_quick

pytestmark = pytest.mark.spark

SHOWN = ("id", "name", "unix_seconds(valid_from)", "unix_seconds(valid_to)", "current")


def versions(
    spark: SparkSession, table: DataFrame | None, *rows: Row, new_keys: int = 0, **given: Any
) -> DataFrame:
    new = changes(spark, *rows, history=True, **given)
    there = new.limit(0) if table is None else table
    parsed = arguments(history=True, **given)
    return all_versions(new, there, parsed, COLUMNS, new_keys)


def shown(frame: DataFrame) -> list[tuple[Any, ...]]:
    found = frame.where("NOT _tombstone").orderBy("id", "_sequence").selectExpr(*SHOWN)
    return [tuple(each) for each in found.collect()]


@pytest.mark.core
def test_a_version_ends_with_the_next_change(spark: SparkSession) -> None:
    rows = row("c", 1, "ann", 0), row("u", 1, "Ann", 2), row("c", 2, "bob", 1), row("d", 2, "", 3)
    assert shown(versions(spark, None, *rows)) == [
        (1, "ann", 0, 2, False),
        (1, "Ann", 2, None, True),
        (2, "bob", 1, 3, False),
    ]


@pytest.mark.slow
def test_the_tables_versions_of_the_same_keys_are_in_order_with_them(spark: SparkSession) -> None:
    table = versions(spark, None, row("c", 1, "a", 1), row("u", 1, "c", 5), row("c", 2, "x", 2))
    again_and_late = row("u", 1, "c", 5), row("u", 1, "b", 3)
    assert shown(versions(spark, table, *again_and_late)) == [
        (1, "a", 1, 3, False),
        (1, "b", 3, 5, False),
        (1, "c", 5, None, True),
    ]


@pytest.mark.slow
def test_a_value_that_was_not_sent_is_that_of_the_version_before(spark: SparkSession) -> None:
    table = versions(spark, None, row("c", 1, "a", 1, size=7))
    found = versions(spark, table, row("u", 1, "b", 2, _unavailable=["size"]))
    assert [each["size"] for each in found.orderBy("_sequence").collect()] == [7, 7]


@pytest.mark.slow
def test_the_versions_of_a_newer_topic_follow(spark: SparkSession) -> None:
    table = versions(spark, None, row("c", 1, "a", 6), row("u", 1, "b", 7))
    later = [
        row("u", 1, "c", 0, topicId="0", ts_ms=8_000),
        row("d", 1, "", 1, topicId="0", ts_ms=9_000),
    ]
    expected = [(1, "a", 6, 7, False), (1, "b", 7, 8, False), (1, "c", 8, 9, False)]
    for rows in (later, [later[1], row("u", 1, "b", 7), later[0]]):
        found = versions(spark, table, *rows, topic_ids=["A", "0"])
        assert sorted(shown(found), key=str) == expected


@pytest.mark.parametrize(
    ("change", "reason"),
    first_are_quick(
        [
            (
                row("u", 2, "b", 2, _unavailable=["size"]),
                "column size of the change of t-0 at offset 2",
            ),
            (
                row("u", 1, "b", 0, partition=1),
                "the change of t-1 at offset 0: the key has changes"
                ".*; the other .* t-0 at offset 1",
            ),
            (
                row("u", 1, "b", 0, topicId="B"),
                r"the change of t-0 at offset 1: the topic was .* The ids are B, A; the other",
            ),
        ]
    ),
)
def test_a_version_that_cannot_be_is_an_error(
    spark: SparkSession, change: Row, reason: str
) -> None:
    table = versions(spark, None, row("c", 1, "a", 1))
    with pytest.raises(SPARK_ERRORS, match=reason):
        versions(spark, table, change).collect()


@pytest.mark.slow
def test_a_version_that_comes_again_gets_values_that_it_lacks(spark: SparkSession) -> None:
    table = versions(spark, None, row("c", 1, "a", 1, size=None), row("u", 1, "b", 2, size=5))
    again = row("c", 1, "a", 1, size=7), row("u", 1, "b", 2, size=None, _unavailable=["size"])
    found = versions(spark, table, *again)
    assert [each["size"] for each in found.orderBy("_sequence").collect()] == [7, 5]


BY_TIME: dict[str, Any] = {"sequence_by": "ts_ms"}


@pytest.mark.slow
def test_equal_values_are_in_the_order_of_offsets(spark: SparkSession) -> None:
    table = versions(spark, None, row("c", 1, "a", 1, ts_ms=5_000), **BY_TIME)
    second = row("u", 1, "b", 2, ts_ms=5_000)
    found = versions(spark, table, second, **BY_TIME)
    names = [each["name"] for each in found.orderBy("_sequence", "_position").collect()]
    assert names == ["a", "b"]
    assert [each["current"] for each in found.orderBy("_position").collect()] == [False, True]


@pytest.mark.slow
def test_a_change_that_was_written_again_is_no_version(spark: SparkSession) -> None:
    first = row("c", 1, "a", 1, ts_ms=5_000)
    table = versions(spark, None, first, **BY_TIME)
    again = row("c", 1, "a", 9, ts_ms=5_000)
    assert versions(spark, table, again, **BY_TIME).count() == 1
    assert versions(spark, None, first, again, **BY_TIME).count() == 1


@pytest.mark.parametrize(
    "more", first_are_quick([{"partition": 1}, {"topic": "u"}, {"topicId": "B"}])
)
def test_equal_values_in_two_partitions_are_in_no_order(
    spark: SparkSession, more: dict[str, Any]
) -> None:
    table = versions(spark, None, row("c", 1, "a", 1, ts_ms=5_000), **BY_TIME)
    with pytest.raises(SPARK_ERRORS, match="two different changes with this sequence"):
        versions(spark, table, row("u", 1, "b", 2, ts_ms=5_000, **more), **BY_TIME).collect()
