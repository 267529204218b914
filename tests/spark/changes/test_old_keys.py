"""Updates of keys: which rows are deleted, and which updates are refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from kafka_spark_source.changes.arguments import ChangeError
from kafka_spark_source.changes.checks import check
from kafka_spark_source.changes.rows import changes_of, columns_of, with_usual_names
from tests.spark.changes.test_arguments import arguments
from tests.spark.changes.test_rows import SCHEMA, changes, row

pytestmark = pytest.mark.spark

REFUSED = r"the change of t-0 at offset 1: the update may have changed the key \(id\), and the row "


def found(spark: SparkSession, *rows: Row, schema: str, **given: Any) -> list[tuple[Any, ...]]:
    """The id and whether it is deleted, in the order of offsets; each update is checked."""
    parsed = arguments(**given)
    frame = with_usual_names(spark.createDataFrame([*rows], f"{SCHEMA}, {schema}"), parsed)
    columns = columns_of(frame, parsed)
    assert not {"before", "key"} & {each.lower() for each in columns}
    made = changes_of(frame, parsed, columns)
    check(made, parsed, columns)
    shown = made.select(*parsed.keys, "_tombstone", "_sequence.offset").collect()
    by_place = sorted(shown, key=lambda each: (each["offset"], not each["_tombstone"]))
    return [tuple(each)[:-1] for each in by_place]


@pytest.mark.core
def test_an_update_with_another_key_deletes_the_row_before_it(spark: SparkSession) -> None:
    schema = f"{SCHEMA}, before struct<id: bigint, name: string>"
    rows = (
        row("c", 1, "ann", 0, before=None),
        row("u", 2, "ann", 1, before=(1, "ann")),
        row("u", 2, "Ann", 2, before=(2, "ann")),
        row("d", 2, None, 3, before=(2, "Ann")),
    )
    made = changes(spark, *rows, schema=schema)
    assert "before" not in made.columns
    shown = made.selectExpr("id", "name", "_tombstone", "_sequence.offset")
    assert sorted(map(tuple, shown.collect()), key=lambda each: (each[3], each[0])) == [
        (1, "ann", False, 0),
        (1, None, True, 1),
        (2, "ann", False, 1),
        (2, "Ann", False, 2),
        (2, None, True, 3),
    ]


BEFORE_AND_KEY = "before struct<id: bigint>, key struct<id: bigint>"


STAYS, MOVES = [(2, False)], [(1, True), (2, False)]


@pytest.mark.parametrize(
    ("schema", "updates"),
    [
        (
            BEFORE_AND_KEY,
            [
                # Debezium splits an update of the record's key; `before` may have a filler.
                ({"before": (0,), "key": (2,)}, STAYS),
                ({"before": None, "key": (2,)}, STAYS),
                # A record without a key, as of a table without a primary key.
                ({"before": (1,), "key": None}, MOVES),
                ({"before": (2,), "key": None}, STAYS),
                ({"before": (1,), "key": (None,)}, MOVES),
            ],
        ),
        ("before struct<id: bigint>, key binary", [({"before": (1,), "key": b"x"}, MOVES)]),
        ("before struct<id: bigint>", [({"before": (1,)}, MOVES)]),
        ("Before struct<ID: bigint>", [({"Before": (1,)}, MOVES)]),
        # A key of other columns: an update of `id` is one event.
        (
            "before struct<id: bigint>, key struct<name: string>",
            [({"before": (1,), "key": ("ann",)}, MOVES)],
        ),
        # Nobody tells what the record's key is.
        ("other int", [({"other": 1}, STAYS)]),
        ("key struct<code: string>", [({"key": ("x",)}, STAYS)]),
        ("key binary", [({"key": b"x"}, STAYS), ({"key": b""}, STAYS)]),
        ("key struct<id: bigint, other: int>", [({"key": (2, None)}, STAYS)]),
        ("key struct<id: string>", [({"key": ("2",)}, STAYS)]),
        ("key struct<id: decimal(9, 3)>", [({"key": (Decimal(2),)}, STAYS)]),
        # A selection gave another column of the table the name `id`.
        (BEFORE_AND_KEY, [({"before": (1,), "key": (7,)}, MOVES)]),
    ],
)
def test_an_update(
    spark: SparkSession,
    schema: str,
    updates: list[tuple[dict[str, Any], list[tuple[Any, ...]]]],
) -> None:
    rows = [row("u", 2, "ann", number, **more) for number, (more, _) in enumerate(updates)]
    expected = [each for _, those in updates for each in those]
    assert found(spark, *rows, schema=schema) == expected


@pytest.mark.parametrize(
    ("schema", "more"),
    [
        ("key struct<id: bigint>", {"key": None}),
        ("key struct<id: bigint>", {"key": (None,)}),
        ("key binary", {"key": None}),
        ("Key binary", {"Key": None}),
        ("key struct<code: string>", {"key": None}),
        ("key struct<name: string>", {"key": ("ann",)}),
        ("key struct<name: string, code: int>", {"key": ("ann", 5)}),
        ("key struct<id: bigint>", {"key": (7,)}),
        ("key struct<id: string>", {"key": ("a",)}),
        ("before struct<id: bigint>", {"before": None}),
        ("before struct<id: bigint>", {"before": (None,)}),
        ("before struct<id: bigint>, key binary", {"before": None, "key": b"x"}),
        (BEFORE_AND_KEY, {"before": None, "key": None}),
        ("before struct<id: bigint>, key struct<name: string>", {"before": None, "key": ("x",)}),
    ],
)
def test_an_update_whose_key_before_is_not_known_is_refused(
    spark: SparkSession, schema: str, more: dict[str, Any]
) -> None:
    """It would silently leave the row of the old key. Other operations tell their key.

    The error names the first record, so it would name theirs.
    """
    others = [row(op, 1, "ann", 0, **more) for op in "crd"]
    with pytest.raises(ChangeError, match=REFUSED) as raised:
        found(spark, *others, row("u", 2, "ann", 1, **more), schema=schema)
    assert str(raised.value).endswith("the record's key alike; nothing was applied")


def test_a_condition_for_deletes_does_not_change_what_an_update_is(spark: SparkSession) -> None:
    given: dict[str, Any] = {"schema": "key binary", "delete": "size > 5"}
    assert found(spark, row("c", 2, "ann", 1, key=None), **given) == [(2, False)]
    with pytest.raises(ChangeError, match=REFUSED):
        found(spark, row("u", 2, "ann", 1, key=None), **given)


@pytest.mark.slow
def test_a_key_of_two_columns_must_be_whole_before(spark: SparkSession) -> None:
    schema = "before struct<id: bigint, size: int>, key struct<id: bigint>"
    given: dict[str, Any] = {"schema": schema, "keys": ["id", "size"]}
    moved = row("u", 2, "ann", 1, before=(1, 1), key=None)
    assert found(spark, moved, **given) == [(1, 1, True), (2, 1, False)]
    # The record's key has a part of it only.
    sized = row("u", 2, "ann", 1, before=(2, 7), key=(2,))
    assert found(spark, sized, **given) == [(2, 7, True), (2, 1, False)]
    for before, key in (((1, None), None), ((2, None), (2,)), (None, (2,))):
        with pytest.raises(ChangeError, match=r"may have changed the key \(id, size\)"):
            found(spark, row("u", 2, "ann", 1, before=before, key=key), **given)
    with pytest.raises(ChangeError, match=r"may have changed the key \(id, size\)"):
        changed = row("u", 2, "ann", 1, key=(2,))
        found(spark, changed, schema="key struct<id: bigint>", keys=["id", "size"])


def test_rows_without_op_may_have_the_row_before(spark: SparkSession) -> None:
    given: dict[str, Any] = {"schema": "before struct<id: bigint, size: int>"}
    frame = spark.createDataFrame(
        [row("x", 2, "ann", 1, before=(1, 1))], f"{SCHEMA}, {given['schema']}"
    )
    parsed = arguments(delete="name IS NULL")
    made = changes_of(frame.drop("op"), parsed, columns_of(frame, parsed)[:3])
    assert sorted((each["id"], each["_tombstone"]) for each in made.collect()) == [
        (1, True),
        (2, False),
    ]


def test_names_may_have_a_prefix(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [row("u", 2, "ann", 1, before=(1,), key=None)], f"{SCHEMA}, {BEFORE_AND_KEY}"
    )
    own = ("op", "topic", "partition", "offset", "topicId", "ts_ms", "before", "key")
    parsed = arguments(prefix="__")
    renamed = frame.withColumnsRenamed({each: f"__{each}" for each in own})
    made = changes_of(renamed, parsed, columns_of(renamed, parsed))
    assert sorted((each["id"], each["_tombstone"]) for each in made.collect()) == [
        (1, True),
        (2, False),
    ]
    without = renamed.drop("__before")
    with pytest.raises(ChangeError, match=REFUSED):
        columns = columns_of(without, parsed)
        check(changes_of(without, parsed, columns), parsed, columns)


def test_a_column_key_of_the_table_tells_nothing(spark: SparkSession) -> None:
    schema = f"{SCHEMA}, {BEFORE_AND_KEY}"
    frame = spark.createDataFrame([row("u", 2, "ann", 1, before=(1,), key=(2,))], schema)
    parsed = arguments(columns=["key"])
    made = changes_of(frame, parsed, columns_of(frame, parsed))
    assert sorted((each["id"], each["key"]) for each in made.collect()) == [(1, None), (2, (2,))]


def test_a_column_before_of_the_table(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], f"{SCHEMA}, before string")
    assert "before" in columns_of(frame, arguments())
    frame = spark.createDataFrame([], f"{SCHEMA}, BEFORE string")
    assert "BEFORE" in with_usual_names(frame, arguments()).columns
    frame = spark.createDataFrame([], f"{SCHEMA}, before struct<x: int>")
    assert "before" in columns_of(frame, arguments(columns=["name", "before"]))


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ("struct<x: int>", "the column before, the row before a change, has no field id, which is"),
        ("struct<name: string>", "has no field id, which is bigint in the rows: read or rename"),
        ("struct<id: int>", "has the type int for id, which is bigint in the rows: read or rename"),
        ("struct<ID: string>", "has the type string for id, which is bigint in the rows"),
    ],
)
def test_a_row_before_that_lacks_the_key(spark: SparkSession, before: str, reason: str) -> None:
    frame = spark.createDataFrame([], f"{SCHEMA}, before {before}")
    with pytest.raises(ChangeError, match=reason):
        columns_of(frame, arguments())
