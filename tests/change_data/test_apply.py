"""`apply_changes` on tables of Delta and of Iceberg: the newest change of a key wins, for ever."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from kafka_spark_source.changes import apply_changes
from kafka_spark_source.changes.arguments import ChangeError
from tests.change_data.tables import CHANGES, MakeTarget, change

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


def test_a_name_that_spark_would_replace_is_refused(new_target: MakeTarget) -> None:
    target = new_target("id bigint, name string")
    more = Row(**{"${env:HOME}": 1})
    with pytest.raises(ChangeError, match="which Spark replaces in SQL"):
        target.apply(
            [change("c", 1, "ann", 0, s=more)], f"{CHANGES}, s struct<`${{env:HOME}}`: int>"
        )


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
    with pytest.raises(ChangeError, match=r"column size of the change of t-0 at offset 2: th"):
        target.apply([unknown, change("u", 9, "after", 3)])
    assert target.rows() == [(9, "before")]


def test_changes_of_a_key_in_two_partitions_are_in_no_order(new_target: MakeTarget) -> None:
    target = new_target()
    target.apply(FIRST)
    moved = change("u", 1, "Ann", 0, partition=1)
    with pytest.raises(ChangeError, match="change of t-1 at offset 0: the key has changes in"):
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
    with pytest.raises(ChangeError, match=seen):
        target.apply(again)
    assert target.rows() == AFTER_BOTH
    for batch in (again, again, [change("c", 2, "bobby", 2, partition=5, topicId="B")], LATER):
        target.apply(batch, topic_ids=["A", "B"])
    assert target.rows() == [(1, "anna"), (2, "bobby"), (3, "Eve"), (4, "dan")]
    with pytest.raises(ChangeError, match="t-0 at offset 0: the id of its topic is not in"):
        target.apply(again, topic_ids=["A"])
    with pytest.raises(ChangeError, match="The ids are A, C"):
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


def test_an_equal_sequence_later_in_kafka_is_newer(new_target: MakeTarget) -> None:
    target = new_target()
    arguments: dict[str, Any] = {"sequence_by": "ts_ms"}
    first, second = change("c", 1, "ann", 0, ts_ms=5), change("u", 1, "Ann", 1, ts_ms=5)
    deleted = change("d", 1, None, 2, ts_ms=5)
    for batch, expected in (
        ([first], [(1, "ann")]),
        ([second], [(1, "Ann")]),
        ([first], [(1, "Ann")]),
        ([first, second], [(1, "Ann")]),
        ([deleted], []),
        ([first, second, deleted], []),
    ):
        target.apply(batch, **arguments)
        assert target.rows() == expected
    both = r"t-1 at offset 7: the key has two different .* other change: t-0 at offset 2; nothing"
    with pytest.raises(ChangeError, match=both):
        target.apply([change("u", 1, "x", 7, partition=1, ts_ms=5)], **arguments)
    target.apply([change("d", 1, None, 7, partition=1, ts_ms=5)], **arguments)


def test_rows_without_a_place_in_kafka_are_told_by_their_contents(
    new_target: MakeTarget, spark: SparkSession
) -> None:
    target = new_target()
    columns = "id bigint, name string, version int, op string"
    apply = target.function(sequence_by="version")
    for name in ("ann", "ann"):
        apply(spark.createDataFrame([(1, name, 5, "c")], columns), 0)
    assert "_position" not in target.schema()
    with pytest.raises(ChangeError, match="two different changes with this sequence"):
        apply(spark.createDataFrame([(1, "Ann", 5, "u")], columns), 0)
    with pytest.raises(ChangeError, match="two different changes with this sequence"):
        apply(spark.createDataFrame([(1, None, 5, "d")], columns), 0)
    assert target.rows() == [(1, "ann")]


def test_a_table_from_before_there_were_positions_goes_on(
    new_target: MakeTarget, spark: SparkSession
) -> None:
    """Its rows have the first change of those with one sequence."""
    target = new_target("id bigint, name string, size int, _sequence bigint, _tombstone boolean")
    spark.sql(f"INSERT INTO {target.sql} VALUES (1, 'ann', 1, 5, false), (2, 'b', 1, 9, false)")
    arguments: dict[str, Any] = {"sequence_by": "ts_ms"}
    batch = [change("u", 1, "Ann", 3, ts_ms=5), change("u", 2, "old", 4, ts_ms=8)]
    with pytest.raises(ChangeError, match="lacks columns: _position struct<topic"):
        target.apply(batch, evolve=False, **arguments)
    target.apply(batch, **arguments)
    assert target.rows("id", "name", "_position.offset") == [(1, "Ann", 3), (2, "b", None)]


def test_a_deleted_row_keeps_nothing_and_gets_nothing_back(new_target: MakeTarget) -> None:
    target = new_target("id bigint, email string")
    wider = f"{CHANGES}, email string"
    target.apply([change("c", 1, "ann", 0, email="a@x")], wider)
    target.apply([change("d", 1, "ann", 1)])
    assert target.rows("id", "name", "email", where="_tombstone") == [(1, None, None)]
    target.apply([change("c", 1, "another", 2)])
    assert target.rows("id", "name", "email") == [(1, "another", None)]


def test_a_row_of_a_tombstone_is_a_row_again_without_tombstones(new_target: MakeTarget) -> None:
    target = new_target()
    target.apply([*FIRST, *LATER])
    target.apply([change("c", 2, "bobby", 9)], tombstones=False)
    assert target.rows() == [(1, "Ann"), (2, "bobby"), (3, "Eve")]


def test_a_column_of_a_later_start_is_filled_when_changes_come_again(
    new_target: MakeTarget, spark: SparkSession
) -> None:
    """In one call with a batch read also values that the database did not send later."""
    target = new_target()
    wider = f"{CHANGES}, email string"
    rows = [
        change("c", 1, "ann", 0, email="a@x"),
        change("u", 1, "Ann", 1, email=None, _unavailable=["email"]),
        change("c", 2, "bob", 2, email="b@x"),
        change("d", 3, "eve", 3, email=None),
    ]
    narrow = spark.createDataFrame(rows, wider).drop("email")
    target.function()(narrow, 0)
    target.function()(spark.createDataFrame(rows, wider), 0)
    assert target.rows("id", "email") == [(1, "a@x"), (2, "b@x")]


REKEY = (
    change("d", 1, None, 1),
    change("c", 5, "pear", 3, size=None, _unavailable=["size"]),
)


@pytest.mark.parametrize("is_in_table", [False, True])
@pytest.mark.parametrize("history", [False, True])
def test_a_new_key_takes_the_value_that_was_not_sent_from_the_old_row(
    new_target: MakeTarget, is_in_table: bool, history: bool
) -> None:
    target = new_target()
    first = change("c", 1, "pear", 0, size=7)
    for batch in [[first], REKEY, REKEY] if is_in_table else [[first, *REKEY], REKEY]:
        target.apply(batch, history=history)
        where = "current" if history else "_tombstone IS NOT TRUE"
    assert target.rows("id", "name", "size", where=where) == [(5, "pear", 7)]


def test_a_value_whose_old_row_is_gone_comes_with_the_whole_topic(new_target: MakeTarget) -> None:
    """The delete was in the micro-batch before: the page says how to go on."""
    target = new_target()
    first = change("c", 1, "pear", 0, size=7)
    for batch in ([first], REKEY[:1]):
        target.apply(batch)
    with pytest.raises(ChangeError, match=r"size of the change of t-0 at offset 3: .* in one call"):
        target.apply(REKEY[1:])
    target.apply([first, *REKEY])
    target.apply(REKEY[1:])
    assert target.rows("id", "name", "size") == [(5, "pear", 7)]


def test_an_update_of_the_key_deletes_the_row_before_it(new_target: MakeTarget) -> None:
    target = new_target()
    schema = f"{CHANGES}, before struct<id: bigint>"
    target.apply([change("c", 1, "ann", 0, before=None)], schema)
    updated = change("u", 5, "Ann", 1, before=(1,), size=None, _unavailable=["size"])
    for _ in range(2):
        target.apply([updated], schema)
        assert target.rows() == [(5, "Ann")]


@pytest.mark.parametrize("columns", ["id int", "id bigint, name int", "id bigint, size decimal(4)"])
def test_a_column_that_would_lose_values_is_refused(new_target: MakeTarget, columns: str) -> None:
    target = new_target(columns)
    with pytest.raises(ChangeError, match=r"in the rows and .* cannot have all of its values"):
        target.apply(FIRST)
    assert target.rows("id", where="true") == []


@pytest.mark.slow
@pytest.mark.core
def test_all_types_of_debezium_are_added(new_target: MakeTarget) -> None:
    target = new_target()
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678_901)
    values: dict[str, tuple[str, Any]] = {
        "b": ("boolean", True),
        "i8": ("tinyint", 1),
        "i16": ("smallint", -2),
        "i64": ("bigint", 2**60),
        "f": ("float", 0.5),
        "d": ("double", 0.1),
        "n": ("decimal(10,2)", Decimal("12.75")),
        "bytes": ("binary", b"\x00\xff"),
        "day": ("date", dt.date(2026, 1, 2)),
        "at": ("timestamp_ntz", moment),
        "ats": ("array<timestamp_ntz>", [moment]),
        "zoned": ("timestamp", moment),
        "texts": ("array<string>", ["x", None]),
        "map": ("map<string,string>", {"a": "b"}),
        "point": ("struct<x: double, wkb: binary, srid: int>", (1.0, b"\x01", None)),
    }
    schema = ", ".join([CHANGES, *(f"{name} {type_}" for name, (type_, _) in values.items())])
    row = change("c", 1, "ann", 0, **{name: value for name, (_, value) in values.items()})
    for _ in range(2):
        target.apply([row], schema)
        ((*found,),) = target.rows(*values)
        assert found == [value for _, value in values.values()]


def test_a_type_that_the_table_does_not_take_is_named(
    new_target: MakeTarget, spark: SparkSession
) -> None:
    rows = spark.createDataFrame([*FIRST], CHANGES).selectExpr("*", "INTERVAL '1' DAY AS lasts")
    with pytest.raises(ChangeError, match=r"does not take the columns .*lasts interval day"):
        new_target().function()(rows, 0)
