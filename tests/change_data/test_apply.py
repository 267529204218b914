"""`apply_changes` on tables of Delta and of Iceberg: the newest change of a key wins, for ever."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from kafka_spark_source.changes import apply_changes
from kafka_spark_source.changes.arguments import ChangeError
from tests.change_data.tables import CHANGES, MakeTarget, change
from tests.spark_session import SPARK_ERRORS

pytestmark = [pytest.mark.integration, pytest.mark.spark]

FIRST = change("c", 1, "ann", 0), change("c", 2, "bob", 1), change("c", 3, "eve", 2)
LATER = change("u", 1, "Ann", 3), change("d", 2, "bob", 4), change("u", 3, "Eve", 5)
AFTER_BOTH = [(1, "Ann"), (3, "Eve")]


@pytest.mark.core
def test_changes_are_applied_and_replays_change_nothing(new_target: MakeTarget) -> None:
    target = new_target()
    target.apply(FIRST)
    assert target.rows() == [(1, "ann"), (2, "bob"), (3, "eve")]
    for batch in (LATER, [*LATER, *FIRST]):
        target.apply(batch)
        assert target.rows() == AFTER_BOTH
    deleted = target.rows("id", "name", "_sequence.offset", where="_tombstone")
    assert deleted == [(2, None, 4)]


def test_replays_in_any_order_change_nothing(new_target: MakeTarget) -> None:
    target = new_target()
    for batch in (FIRST, LATER, LATER, FIRST):
        target.apply(batch)
    assert target.rows() == AFTER_BOTH


def test_within_a_micro_batch_the_newest_change_wins(new_target: MakeTarget) -> None:
    target = new_target()
    both = [*FIRST, *LATER, change("d", 1, "Ann", 6), change("c", 1, "anna", 7)]
    random.Random(1).shuffle(both)
    target.apply(both)
    assert target.rows() == [(1, "anna"), (3, "Eve")]


def test_without_tombstones_deleted_rows_are_gone(new_target: MakeTarget) -> None:
    target = new_target()
    for batch in (FIRST, LATER, LATER):
        target.apply(batch, tombstones=False)
    assert target.rows(where="true") == AFTER_BOTH
    assert "_tombstone" not in target.schema()


@pytest.mark.slow
@pytest.mark.core
def test_columns_that_appear_are_added(new_target: MakeTarget) -> None:
    target = new_target("id bigint, name string")
    target.apply(FIRST)
    wider = f"{CHANGES}, `a``b` struct<x: int, `y.z`: array<string>>"
    more = Row(x=1, **{"y.z": ["p"]})
    target.apply([change("u", 1, "ann", 9, **{"a`b": more})], wider)
    assert target.rows("id", "`a``b`.`y.z`") == [(1, ["p"]), (2, None), (3, None)]


def test_without_evolve_they_are_refused(new_target: MakeTarget) -> None:
    target = new_target("id bigint, name string")
    with pytest.raises(ChangeError, match="lacks columns: size int, _sequence struct"):
        target.apply(FIRST, evolve=False)
    assert target.schema() == {"id": "bigint", "name": "string"}


def test_a_value_that_was_not_sent_stays(new_target: MakeTarget) -> None:
    target = new_target()
    target.apply([change("c", 1, "ann", 0, size=7), change("c", 2, "bob", 1, size=8)])
    target.apply(
        [
            change("u", 1, "Ann", 2, _unavailable=["size"]),
            change("u", 2, "bob", 3, size=9),
            change("u", 2, "Bob", 4, _unavailable=["size"]),
            change("c", 3, "eve", 5, size=None),
            change("u", 3, "Eve", 6, _unavailable=["size"]),
        ]
    )
    assert target.rows("id", "name", "size") == [(1, "Ann", 7), (2, "Bob", 9), (3, "Eve", None)]


@pytest.mark.parametrize("before", [[], [change("c", 1, "ann", 0), change("d", 1, "ann", 1)]])
def test_a_value_that_nobody_has_is_an_error(new_target: MakeTarget, before: list[Row]) -> None:
    target = new_target()
    target.apply([change("c", 9, "before", 0), *before])
    unknown = change("u", 1, "Ann", 2, _unavailable=["size"])
    with pytest.raises(SPARK_ERRORS, match=r"column size of the change of t-0 at offset 2: th"):
        target.apply([unknown, change("u", 9, "after", 3)])
    assert target.rows() == [(9, "before")]


def test_changes_of_a_key_in_two_partitions_are_in_no_order(new_target: MakeTarget) -> None:
    target = new_target()
    target.apply(FIRST)
    moved = change("u", 1, "Ann", 0, partition=1)
    with pytest.raises(SPARK_ERRORS, match="change of t-1 at offset 0: the key has changes in"):
        target.apply([moved, change("u", 2, "Bob", 9)])
    with pytest.raises(ChangeError, match="the key has changes in another partition"):
        target.apply([moved, change("u", 1, "Ann", 9)])
    assert target.rows() == [(1, "ann"), (2, "bob"), (3, "eve")]


def test_a_topic_that_was_created_again_is_seen(new_target: MakeTarget) -> None:
    """Its offsets begin at 0 again, so its changes would count as older ones."""
    target = new_target()
    target.apply([*FIRST, *LATER])
    again = [change("u", 1, "anna", 0, topicId="B"), change("c", 4, "dan", 1, topicId="B")]
    seen = r"the change of t-0 at offset 0: the topic was deleted and .* The ids are A, B"
    with pytest.raises(SPARK_ERRORS, match=seen):
        target.apply(again)
    assert target.rows() == AFTER_BOTH
    for batch in (again, again, [change("c", 2, "bobby", 2, partition=5, topicId="B")], LATER):
        target.apply(batch, topic_ids=["A", "B"])
    assert target.rows() == [(1, "anna"), (2, "bobby"), (3, "Eve"), (4, "dan")]
    with pytest.raises(ChangeError, match="t-0 at offset 0: the id of its topic is not in"):
        target.apply(again, topic_ids=["A"])
    with pytest.raises(SPARK_ERRORS, match="The ids are A, C"):
        target.apply([change("d", 3, "", 9, topicId="C")], topic_ids=["B", "C"])


def test_a_sequence_of_the_users_orders_them(new_target: MakeTarget) -> None:
    target = new_target()
    arguments: dict[str, Any] = {"sequence_by": ["ts_ms", "offset"]}
    late = change("u", 1, "late", 0, partition=1, ts_ms=3)
    target.apply(
        [change("c", 1, "ann", 8, ts_ms=1), change("u", 1, "Ann", 9, ts_ms=5)], **arguments
    )
    target.apply([late, change("c", 2, "bob", 1, partition=1, ts_ms=4)], **arguments)
    assert target.rows() == [(1, "Ann"), (2, "bob")]
    with pytest.raises(ChangeError, match=r"sequences in .* are struct<ts_ms:bigint"):
        target.apply([late])


@pytest.mark.parametrize(
    ("bad", "arguments", "reason"),
    [
        (change("c", None, "x", 9), {}, "t-0 at offset 9: a key is null: id"),
        (change("t", 1, "x", 9), {}, "t-0 at offset 9: op is not one of c, u, r, d"),
        (change("c", 1, "x", 9), {"delete": "size > 1"}, "offset 9: `delete` is null"),
        (change("c", 1, "x", 9), {"sequence_by": ["size"]}, "offset 9: the sequence is null"),
        (change("c", 1, "x", 9, ts_ms=None), {"history": True}, "the time of the change is null"),
        (change("c", 1, "x", 0), {"sequence_by": "offset"}, "two different changes with th"),
    ],
)
def test_a_bad_change_is_named_and_nothing_is_applied(
    new_target: MakeTarget, bad: Row, arguments: dict[str, Any], reason: str
) -> None:
    target = new_target()
    with pytest.raises(ChangeError, match=reason):
        target.apply([change("c", 1, "ann", 0, size=1), bad], **arguments)
    assert target.rows("id", where="true") == []


@pytest.mark.parametrize("missing", ["op", "offset"])
def test_rows_without_a_column_are_refused(
    new_target: MakeTarget, spark: SparkSession, missing: str
) -> None:
    rows = spark.createDataFrame([*FIRST], CHANGES).drop(missing)
    with pytest.raises(ChangeError, match=rf"have no column {missing}, which (marks|gives)"):
        new_target().function()(rows, 0)


def test_an_empty_micro_batch_changes_nothing(new_target: MakeTarget) -> None:
    target = new_target()
    target.apply([])
    assert target.schema() == {"id": "bigint"}


def test_a_row_from_elsewhere_is_older_than_any_change(
    new_target: MakeTarget, spark: SparkSession
) -> None:
    target = new_target("id bigint, name string")
    spark.sql(f"INSERT INTO {target.sql} VALUES (1, 'loaded'), (2, 'loaded'), (7, 'loaded')")
    target.apply(LATER)
    assert target.rows() == [(1, "Ann"), (3, "Eve"), (7, "loaded")]


def test_a_table_of_another_format_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE IF NOT EXISTS plain (id bigint) USING parquet")
    rows = spark.createDataFrame([*FIRST], CHANGES)
    with pytest.raises(ChangeError, match="the target plain is parquet, but MERGE needs"):
        apply_changes("plain", keys="id")(rows, 0)
    with pytest.raises(ChangeError, match="the target nowhere cannot be described: "):
        apply_changes("nowhere", keys="id")(rows, 0)
    with pytest.raises(ChangeError, match=r"is not a table of Delta .* and not one of Iceberg"):
        apply_changes(str(tmp_path), keys="id")(rows, 0)
