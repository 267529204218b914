"""Rows of a micro-batch as changes. `tests/change_data` applies them to real tables."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from kafka_spark_source.changes.arguments import ChangeError, table_columns
from kafka_spark_source.changes.rows import changes_of, check, latest, with_known_values
from tests.spark.changes.test_arguments import arguments

pytestmark = pytest.mark.spark

KEYS = ("id",)
COLUMNS = ("id", "name", "size")
SCHEMA = (
    "id bigint, name string, size int, op string, topic string, partition int, offset bigint, "
    "topicId string, ts_ms bigint, _unavailable array<string>"
)


def row(op: str | None, id_: int | None, name: str | None, offset: int, **more: Any) -> Row:
    usual = {
        **{"id": id_, "name": name, "size": 1, "op": op, "topic": "t", "partition": 0},
        **{"offset": offset, "topicId": "A", "ts_ms": offset * 1_000, "_unavailable": None},
    }
    return Row(**(usual | more))


def changes(spark: SparkSession, *rows: Row, **given: Any) -> DataFrame:
    frame = spark.createDataFrame([*rows], SCHEMA)
    parsed = arguments(**given)
    found = changes_of(frame, parsed, table_columns(parsed, frame.columns))
    assert check(found, parsed, COLUMNS) == len(rows)
    return found


@pytest.mark.core
def test_a_delete_keeps_the_keys_only(spark: SparkSession) -> None:
    found = changes(spark, row("c", 1, "ann", 0), row("d", 2, "bob", 1))
    shown = found.selectExpr("id", "name", "size", "_tombstone", "_sequence.offset")
    assert [tuple(each) for each in shown.collect()] == [
        (1, "ann", 1, False, 0),
        (2, None, None, True, 1),
    ]


def test_the_newest_change_of_each_key(spark: SparkSession) -> None:
    rows = (
        row("c", 1, "ann", 0),
        row("u", 2, "bob", 3),
        row("u", 1, "Ann", 4),
        row("c", 2, "b", 1),
    )
    found = latest(changes(spark, *rows), KEYS).select("id", "name").collect()
    assert sorted(tuple(each) for each in found) == [(1, "Ann"), (2, "bob")]


def test_the_changes_of_a_newer_topic_are_newer(spark: SparkSession) -> None:
    rows = (
        row("c", 1, "old", 7, topicId="Z", size=5),
        row("u", 1, "new", 1, partition=1, topicId="A", _unavailable=["size"]),
    )
    ids = ["Z", "A"]
    found = with_known_values(changes(spark, *rows, topic_ids=ids), KEYS, COLUMNS, ids)
    shown = latest(found, KEYS, ids).select("name", "size").collect()
    assert [tuple(each) for each in shown] == [("new", 5)]


def test_a_topic_without_an_id_is_in_the_order_of_its_offsets(spark: SparkSession) -> None:
    rows = (row("c", 1, "a", 0, topicId=None), row("u", 1, "b", 1, topicId=None))
    assert [each["name"] for each in latest(changes(spark, *rows), KEYS).collect()] == ["b"]


def test_a_condition_of_the_users_tells_deletes(spark: SparkSession) -> None:
    found = changes(spark, row("x", 1, "gone", 0), row("y", 2, "bob", 1), delete="name = 'gone'")
    assert [each["_tombstone"] for each in found.collect()] == [True, False]


def test_a_sequence_of_several_columns_is_compared_in_their_order(spark: SparkSession) -> None:
    given = {"sequence_by": ["ts_ms", "offset + 1"]}
    rows = (row("c", 1, "old", 9, ts_ms=1), row("u", 1, "new", 0, ts_ms=2))
    found = latest(changes(spark, *rows, **given), KEYS).collect()
    assert [(each["name"], tuple(each["_sequence"])) for each in found] == [("new", (2, 1))]


def test_equal_changes_with_the_same_sequence_are_one(spark: SparkSession) -> None:
    rows = (row("c", 1, "ann", 0, ts_ms=1), row("c", 1, "ann", 5, ts_ms=1))
    assert latest(changes(spark, *rows, sequence_by="ts_ms"), KEYS).count() == 1


@pytest.mark.parametrize(
    ("bad", "given", "reason"),
    [
        (row("c", None, "x", 9), {}, "t-0 at offset 9: a key is null: id; nothing was applied"),
        (row("m", 1, "x", 9), {}, "t-0 at offset 9: op is not one of c, u, r, d"),
        (row(None, 1, "x", 9), {}, "t-0 at offset 9: op is not one of"),
        (row("c", 1, "x", 9, size=None), {"delete": "size > 1"}, "offset 9: `delete` is null"),
        (row("c", 1, "x", 9, ts_ms=None), {"sequence_by": "ts_ms"}, "9: the sequence is null"),
        (row("c", 1, "x", 9, ts_ms=None), {"sequence_by": ["ts_ms", "id"]}, "sequence is null"),
        (row("c", 1, "x", 9, topic=None), {}, "a row with a null position: the sequence is null"),
        (row("c", 1, "x", 9, ts_ms=None), {"history": True}, "9: the time of the change is null"),
        (row("c", 1, "x", 9, partition=1), {}, "0: the key has changes in another partition"),
        (row("c", 1, "x", 9, topic="u", topicId="B"), {}, "the key has changes in another part"),
        (row("c", 1, "x", 9, topicId="B"), {}, r"0: the topic was deleted and .* The ids are A, B"),
        (row("c", 1, "x", 9, topicId="B"), {"topic_ids": ["A"]}, "9: the id of its topic is not"),
        (row("c", 1, "x", 9, topicId=None), {"topic_ids": ["A"]}, "9: the id of its topic is no"),
        (row("c", 1, "x", 0), {"sequence_by": "offset"}, "two different changes with this seq"),
    ],
)
def test_a_bad_change_is_named(
    spark: SparkSession, bad: Row, given: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ChangeError, match=reason):
        changes(spark, row("c", 1, "ann", 0), bad, **given)


@pytest.mark.parametrize(
    ("dropped", "given", "reason"),
    [
        (["op"], {}, "no column op, which marks deletes"),
        (["topic", "offset"], {}, "no column topic, offset, which gives the order"),
        (["topicId"], {}, r"no column topicId, which .* \(option includeTopicId\), or give `sequ"),
        (
            ["ts_ms"],
            {"history": True},
            "no time of changes: neither of source.ts_ms, ts_ms, timest",
        ),
    ],
)
def test_a_column_that_is_missing_is_named(
    spark: SparkSession, dropped: list[str], given: dict[str, Any], reason: str
) -> None:
    frame = spark.createDataFrame([], SCHEMA).drop(*dropped)
    with pytest.raises(ChangeError, match=reason):
        changes_of(frame, arguments(**given), COLUMNS)


def test_the_time_of_a_change_is_the_databases_if_rows_have_it(spark: SparkSession) -> None:
    frame = spark.createDataFrame([row("c", 1, "ann", 7)], SCHEMA)
    for columns, second in ((["*"], 7), (["*", "named_struct('ts_ms', 5000L) AS source"], 5)):
        found = changes_of(frame.selectExpr(*columns), arguments(history=True), COLUMNS)
        assert found.selectExpr("unix_seconds(valid_from)").collect()[0][0] == second
    given = arguments(history="timestamp_seconds(3)")
    assert changes_of(frame, given, COLUMNS).selectExpr("unix_seconds(valid_from)").first() == (3,)


def test_names_may_have_a_prefix(spark: SparkSession) -> None:
    frame = spark.createDataFrame([row("d", 1, "ann", 7)], SCHEMA)
    own = ("op", "topic", "partition", "offset", "topicId", "ts_ms")
    names = {each: f"__{each}" for each in own}
    given = arguments(prefix="__", history=True)
    (found,) = changes_of(frame.withColumnsRenamed(names), given, COLUMNS).collect()
    assert tuple(found["_sequence"]) == ("t", 0, 7, "A")
    assert found["_tombstone"]


def test_a_value_that_was_not_sent_is_that_of_the_change_before(spark: SparkSession) -> None:
    rows = (
        row("u", 1, "a", 0, _unavailable=["size"]),
        row("u", 1, "b", 1, size=7),
        row("u", 1, None, 2, size=None, _unavailable=["size", "name"]),
        row("u", 1, "d", 3, size=None),
        row("u", 1, "e", 4, _unavailable=["size"]),
    )
    found = with_known_values(changes(spark, *rows), KEYS, COLUMNS).orderBy("_sequence")
    shown = [tuple(each) for each in found.select("name", "size", "_unavailable").collect()]
    assert shown[1:] == [("b", 7, None), ("b", 7, None), ("d", None, None), ("e", None, None)]
    assert shown[0][::2] == ("a", ["size"])
