"""The versions of a micro-batch's keys. `tests/change_data` applies them to real tables."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from kafka_spark_source.changes.versions import all_versions
from tests.spark.changes.test_rows import COLUMNS, KEYS, changes, row
from tests.spark_session import SPARK_ERRORS

pytestmark = pytest.mark.spark

SHOWN = ("id", "name", "unix_seconds(valid_from)", "unix_seconds(valid_to)", "current")


def versions(spark: SparkSession, table: DataFrame | None, *rows: Row) -> DataFrame:
    new = changes(spark, *rows, history=True)
    there = new.limit(0) if table is None else table
    return all_versions(new, there, KEYS, COLUMNS, by_position=True)


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


def test_the_tables_versions_of_the_same_keys_are_in_order_with_them(spark: SparkSession) -> None:
    table = versions(spark, None, row("c", 1, "a", 1), row("u", 1, "c", 5), row("c", 2, "x", 2))
    again_and_late = row("u", 1, "c", 5), row("u", 1, "b", 3)
    assert shown(versions(spark, table, *again_and_late)) == [
        (1, "a", 1, 3, False),
        (1, "b", 3, 5, False),
        (1, "c", 5, None, True),
    ]


def test_a_value_that_was_not_sent_is_that_of_the_version_before(spark: SparkSession) -> None:
    table = versions(spark, None, row("c", 1, "a", 1, size=7))
    found = versions(spark, table, row("u", 1, "b", 2, _unavailable=["size"]))
    assert [each["size"] for each in found.orderBy("_sequence").collect()] == [7, 7]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            row("u", 2, "b", 2, _unavailable=["size"]),
            "column size of the change of t-0 at offset 2",
        ),
        (row("u", 1, "b", 0, partition=1), "has changes in another partition"),
    ],
)
def test_a_version_that_cannot_be_is_an_error(
    spark: SparkSession, change: Row, reason: str
) -> None:
    table = versions(spark, None, row("c", 1, "a", 1))
    with pytest.raises(SPARK_ERRORS, match=reason):
        versions(spark, table, change).collect()
