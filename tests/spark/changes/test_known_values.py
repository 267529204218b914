"""Values that the database did not send. `tests/change_data` merges them into real tables."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from kafka_spark_source.changes.apply import latest
from kafka_spark_source.changes.known_values import with_known_values, with_values_of_old_keys
from tests.spark.changes.test_arguments import arguments
from tests.spark.changes.test_rows import COLUMNS, SCHEMA, changes, row
from tests.tiers import first_are_quick

pytestmark = pytest.mark.spark

WITH_SOURCE = f"{SCHEMA}, source struct<lsn: bigint>"


def completed(
    spark: SparkSession,
    *rows: Row,
    target: tuple[Row, ...] = (),
    schema: str = SCHEMA,
    **given: Any,
) -> dict[tuple[int, int], tuple[Any, ...]]:
    """Key and offset -> size, and the columns that are unknown or lost."""
    found = changes(spark, *rows, schema=schema, **given)
    parsed = arguments(**given)
    there = changes(spark, *target, schema=schema, **given)
    found = with_values_of_old_keys(found, there, parsed, COLUMNS)
    found = with_known_values(found, parsed, COLUMNS)
    shown = found.select("id", "_sequence.offset", "size", "_unavailable", "_pykafka_lost")
    return {(each[0], each[1]): tuple(each)[2:] for each in shown.collect()}


def test_a_value_is_that_of_the_change_before(spark: SparkSession) -> None:
    lacking: dict[str, Any] = {"size": None, "_unavailable": ["size"]}
    found = completed(
        spark,
        row("c", 1, "a", 0, size=7),
        row("u", 1, "b", 1, **lacking),
        row("u", 2, "b", 2, **lacking),
        row("d", 3, "", 3),
        row("u", 3, "b", 4, **lacking),
    )
    assert found[1, 1] == (7, None, None)
    assert found[2, 2] == (None, ["size"], None)
    assert found[3, 4] == (None, ["size"], ["size"])


def test_a_value_that_was_not_sent_is_that_of_the_change_before(spark: SparkSession) -> None:
    rows = (
        row("u", 1, "a", 0, _unavailable=["size"]),
        row("u", 1, "b", 1, size=7),
        row("u", 1, None, 2, size=None, _unavailable=["size", "name"]),
        row("u", 1, "d", 3, size=None),
        row("u", 1, "e", 4, _unavailable=["size"]),
    )
    found = with_known_values(changes(spark, *rows), arguments(), COLUMNS).orderBy("_sequence")
    shown = [tuple(each) for each in found.select("name", "size", "_unavailable").collect()]
    assert shown[1:] == [("b", 7, None), ("b", 7, None), ("d", None, None), ("e", None, None)]
    assert shown[0][::2] == ("a", ["size"])


def test_the_changes_of_a_newer_topic_are_newer(spark: SparkSession) -> None:
    rows = (
        row("c", 1, "old", 7, topicId="Z", size=5),
        row("u", 1, "new", 1, partition=1, topicId="A", size=None, _unavailable=["size"]),
    )
    given: dict[str, Any] = {"topic_ids": ["Z", "A"]}
    found = with_known_values(changes(spark, *rows, **given), arguments(**given), COLUMNS)
    shown = latest(found, arguments(**given), COLUMNS).select("name", "size").collect()
    assert [tuple(each) for each in shown] == [("new", 5)]


def rekey(old: int, new: int, offset: int, **more: Any) -> tuple[Row, Row]:
    """A delete, a tombstone that is no row, and an insert."""
    return (
        row("d", old, None, offset, **more),
        row("c", new, "b", offset + 2, size=None, _unavailable=["size"], **more),
    )


@pytest.mark.parametrize("is_in_table", first_are_quick([True, False]))
def test_the_row_of_the_old_key_has_the_value(spark: SparkSession, is_in_table: bool) -> None:
    first = row("c", 1, "a", 0, size=7)
    rows = (*rekey(1, 2, 1), *rekey(2, 3, 4), *rekey(3, 1, 7))
    if is_in_table:
        found = completed(spark, *rows, target=(first,))
    else:
        found = completed(spark, first, *rows)
    assert {found[key] for key in ((2, 3), (3, 6), (1, 9))} == {(7, None, None)}


def test_a_record_may_be_there_twice(spark: SparkSession) -> None:
    """Of equal changes any may be taken, so each of them has the value."""
    found = changes(spark, row("c", 1, "a", 0, size=7), *rekey(1, 2, 1), *rekey(1, 2, 1))
    found = with_values_of_old_keys(found, changes(spark), arguments(), COLUMNS)
    assert [each["size"] for each in found.where("id = 2").collect()] == [7, 7]


def test_another_delete_before_it_tells_nothing(spark: SparkSession) -> None:
    first = row("c", 1, "a", 0, size=7)
    found = completed(spark, first, row("d", 1, None, 1), rekey(8, 2, 5)[1])
    assert found[2, 7] == (None, ["size"], None)


def test_the_place_in_the_database_links_them_in_any_partition(spark: SparkSession) -> None:
    first = row("c", 1, "a", 0, size=7, source=(1,))
    old, new = rekey(1, 2, 1, source=(5,))
    moved = Row(**{**new.asDict(), "partition": 1, "offset": 90})
    again = Row(**{**old.asDict(), "offset": 8})
    other = row("d", 4, None, 9, source=(6,))
    for rows in ((first, old, moved), (first, old, moved, again, other)):
        found = completed(spark, *rows, schema=WITH_SOURCE)
        assert found[2, 90] == (7, None, None)
    twice = row("d", 4, None, 8, source=(5,))
    found = completed(spark, first, old, moved, twice, schema=WITH_SOURCE)
    assert found[2, 90] == (None, ["size"], None)


def test_a_row_that_is_newer_than_the_delete_is_not_the_one(spark: SparkSession) -> None:
    found = completed(spark, *rekey(1, 2, 1), target=(row("c", 1, "again", 9, size=7),))
    assert found[2, 3] == (None, ["size"], None)


def test_an_update_with_before_has_the_value_of_the_old_key(spark: SparkSession) -> None:
    schema = f"{SCHEMA}, before struct<id: bigint>"
    updated = row("u", 2, "b", 5, size=None, _unavailable=["size"], before=(1,))
    first = row("c", 1, "a", 0, size=7, before=None)
    found = completed(spark, updated, target=(first,), schema=schema)
    assert found[2, 5] == (7, None, None)


def test_nothing_is_read_again_without_such_changes(spark: SparkSession) -> None:
    found = changes(spark, row("c", 1, "a", 0))
    none = found.limit(0).withColumn("never", F.lit(1))
    kept = with_values_of_old_keys(found, none, arguments(), COLUMNS)
    assert kept.count() == 1
