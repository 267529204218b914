"""Rows of a micro-batch as changes. `tests/change_data` applies them to real tables."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from kafka_spark_source.changes.apply import latest
from kafka_spark_source.changes.arguments import ChangeError
from kafka_spark_source.changes.checks import check, check_order
from kafka_spark_source.changes.rows import changes_of, columns_of
from tests.spark.changes.test_arguments import arguments
from tests.tiers import first_are_quick

pytestmark = pytest.mark.spark

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


def changes(spark: SparkSession, *rows: Row, schema: str = SCHEMA, **given: Any) -> DataFrame:
    """Rows as changes, all of them checked."""
    frame = spark.createDataFrame([*rows], schema)
    parsed = arguments(**given)
    found = changes_of(frame, parsed, columns_of(frame, parsed))
    assert check(found, parsed, COLUMNS).changes >= len(rows)
    check_order(found, found.limit(0), parsed, COLUMNS)
    return found


def newest(found: DataFrame, **given: Any) -> DataFrame:
    """The newest change of each key."""
    return latest(found, arguments(**given), COLUMNS)


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
    found = newest(changes(spark, *rows)).select("id", "name").collect()
    assert sorted(tuple(each) for each in found) == [(1, "Ann"), (2, "bob")]


def test_a_topic_without_an_id_is_in_the_order_of_its_offsets(spark: SparkSession) -> None:
    rows = (row("c", 1, "a", 0, topicId=None), row("u", 1, "b", 1, topicId=None))
    assert [each["name"] for each in newest(changes(spark, *rows)).collect()] == ["b"]


def test_a_condition_of_the_users_tells_deletes(spark: SparkSession) -> None:
    found = changes(spark, row("x", 1, "gone", 0), row("y", 2, "bob", 1), delete="name = 'gone'")
    assert [each["_tombstone"] for each in found.collect()] == [True, False]


def test_a_sequence_of_several_columns_is_compared_in_their_order(spark: SparkSession) -> None:
    given: dict[str, Any] = {"sequence_by": ["ts_ms", "offset + 1"]}
    rows = (row("c", 1, "old", 9, ts_ms=1), row("u", 1, "new", 0, ts_ms=2))
    found = newest(changes(spark, *rows, **given), **given).collect()
    assert [(each["name"], tuple(each["_sequence"])) for each in found] == [("new", (2, 1))]


def test_equal_changes_with_the_same_sequence_are_one(spark: SparkSession) -> None:
    rows = (row("c", 1, "ann", 0, ts_ms=1), row("c", 1, "ann", 5, ts_ms=1))
    (found,) = newest(changes(spark, *rows, sequence_by="ts_ms"), sequence_by="ts_ms").collect()
    assert tuple(found["_position"]) == ("t", 0, 5, "A", None)


@pytest.mark.parametrize(
    ("bad", "given", "reason"),
    first_are_quick(
        [
            (row("c", None, "x", 9), {}, "t-0 at offset 9: a key is null: id; nothing was applied"),
            (row("m", 1, "x", 9), {}, "t-0 at offset 9: op is not one of c, u, r, d"),
            (row(None, 1, "x", 9), {}, "t-0 at offset 9: op is not one of"),
            (row("c", 1, "x", 9, size=None), {"delete": "size > 1"}, "offset 9: `delete` is null"),
            (row("c", 1, "x", 9, ts_ms=None), {"sequence_by": "ts_ms"}, "9: the sequence is null"),
            (row("c", 1, "x", 9, ts_ms=None), {"sequence_by": ["ts_ms", "id"]}, "sequence is null"),
            (
                row("c", 1, "x", 9, topic=None),
                {},
                "a row with a null position: the sequence is null",
            ),
            (
                row("c", 1, "x", 9, ts_ms=None),
                {"history": True},
                "9: the time of the change is null",
            ),
            (row("c", 1, "x", 9, partition=1), {}, "9: the key has changes in another partition"),
            (row("c", 1, "x", 0), {}, "the record has two different changes of one key"),
            (
                row("c", 1, "x", 9, topic="u", topicId="B"),
                {},
                "the key has changes in another part",
            ),
            (
                row("c", 1, "x", 9, topicId="B"),
                {},
                r"9: the topic was deleted and .* The ids are A, B",
            ),
            (
                row("c", 1, "x", 9, topicId="B"),
                {"topic_ids": ["A"]},
                "9: the id of its topic is not",
            ),
            (
                row("c", 1, "x", 9, topicId=None),
                {"topic_ids": ["A"]},
                "9: the id of its topic is no",
            ),
            (row("c", 1, "x", 0), {"sequence_by": "offset"}, "two different changes with this seq"),
        ],
        7,
    ),
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


def test_the_position_has_the_time_in_the_database(spark: SparkSession) -> None:
    schema = f"{SCHEMA}, source struct<ts_ms: bigint>"
    found = changes(spark, row("c", 1, "a", 7, source=(3,)), schema=schema, sequence_by="ts_ms")
    assert tuple(found.collect()[0]["_position"]) == ("t", 0, 7, "A", 3)


def test_names_of_values_that_were_not_sent_have_the_case_of_the_columns(
    spark: SparkSession,
) -> None:
    given = [row("u", 1, "a", 0, _unavailable=["NAME", "Size", "other"]), row("u", 2, "b", 1)]
    shown = changes(spark, *given).select("_unavailable").collect()
    assert [each[0] for each in shown] == [["name", "size", "other"], None]
