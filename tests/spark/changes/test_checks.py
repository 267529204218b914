"""Changes of a micro-batch that are in no order. `test_rows` has the checks of single changes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from kafka_spark_source.changes.arguments import ChangeError
from kafka_spark_source.changes.checks import check, check_order
from kafka_spark_source.changes.rows import changes_of, columns_of
from tests.spark.changes.test_arguments import arguments
from tests.spark.changes.test_rows import COLUMNS, SCHEMA, row
from tests.tiers import first_are_quick

pytestmark = pytest.mark.spark

BY_TIME: dict[str, Any] = {"sequence_by": "ts_ms"}


def ordered(
    spark: SparkSession,
    *rows: Row,
    schema: str = SCHEMA,
    target: DataFrame | None = None,
    **given: Any,
) -> DataFrame:
    frame = spark.createDataFrame([*rows], schema)
    parsed = arguments(**given)
    columns = columns_of(frame, parsed)
    found = changes_of(frame, parsed, columns)
    check_order(found, found.limit(0) if target is None else target, parsed, columns)
    return found


def test_both_records_are_named(spark: SparkSession) -> None:
    first, second = row("c", 1, "a", 3, ts_ms=5), row("u", 1, "b", 8, ts_ms=5)
    with pytest.raises(ChangeError, match=r"of t-0 at offset 8: .*; the other .* t-0 at offset 3;"):
        ordered(spark, first, second, **BY_TIME)
    moved = row("u", 1, "b", 8, partition=1)
    with pytest.raises(ChangeError, match=r"of t-1 at offset 8: .*; the other .* t-0 at offset 3;"):
        ordered(spark, first, moved)


@pytest.mark.parametrize(
    ("type_", "first", "second"),
    first_are_quick(
        [
            ("timestamp", datetime(2026, 1, 1, 0, 0, 0, 1), datetime(2026, 1, 1, 0, 0, 0, 2)),
            ("map<string, int>", {"a": 1}, {"a": 2}),
            ("array<map<string, timestamp_ntz>>", *([{"a": datetime(2026, 1, d)}] for d in (1, 2))),
            ("binary", b"\xff", b"\xfe"),
            ("double", 0.1, 0.1 + 2**-54),
        ],
        3,
    ),
)
def test_contents_are_compared_exactly(
    spark: SparkSession, type_: str, first: object, second: object
) -> None:
    schema = f"{SCHEMA}, value {type_}"
    one, other = (
        row("u", 1, "a", at, ts_ms=5, value=each) for at, each in ((1, first), (2, second))
    )
    ordered(spark, one, Row(**{**one.asDict(), "offset": 2}), schema=schema, **BY_TIME)
    if first == second:
        return
    with pytest.raises(ChangeError, match="two different changes with this sequence"):
        ordered(spark, one, other, schema=schema, **BY_TIME)


@pytest.mark.slow
def test_changes_that_the_target_has_may_come_again(spark: SparkSession) -> None:
    first, second = row("c", 1, "a", 3, ts_ms=5), row("u", 1, "b", 8, ts_ms=5)
    third = row("u", 1, "c", 9, ts_ms=5)
    target = ordered(spark, second, **BY_TIME)
    ordered(spark, first, second, target=target, **BY_TIME)
    newer = ordered(spark, row("u", 1, "d", 10, ts_ms=6), **BY_TIME)
    ordered(spark, first, second, target=newer, **BY_TIME)
    with pytest.raises(ChangeError, match="two different changes with this sequence"):
        ordered(spark, second, third, target=target, **BY_TIME)


def test_new_positions_in_the_databases_log_are_seen(spark: SparkSession) -> None:
    schema = f"{SCHEMA}, source struct<lsn: bigint, ts_ms: bigint>"
    given: dict[str, Any] = {"sequence_by": "source.lsn"}
    old, new = row("u", 1, "a", 3, source=(900, 10)), row("u", 1, "b", 8, source=(20, 50))
    with pytest.raises(ChangeError, match=r"of t-0 at offset 8: .* later in Kafka .* offset 3;"):
        ordered(spark, old, new, schema=schema, **given)
    again = row("u", 1, "b", 8, source=(20, 2))
    ordered(spark, old, again, schema=schema, **given)


def test_texts_with_numbers_are_seen(spark: SparkSession) -> None:
    given: dict[str, Any] = {"sequence_by": ["name", "offset"]}
    rows = row("u", 1, "mysql-bin.999999", 3), row("u", 1, "mysql-bin.1000000", 8)
    names = "mysql-bin.999999, mysql-bin.1000000; "
    with pytest.raises(ChangeError, match=f"compares texts.* {names}"):
        ordered(spark, *rows, **given)


@pytest.mark.slow
def test_changes_that_may_give_a_new_key_are_counted(spark: SparkSession) -> None:
    rows = (
        row("c", 1, "a", 3, _unavailable=["size"]),
        row("u", 2, "a", 4, _unavailable=["size"]),
        row("c", 3, "a", 5),
    )
    found = ordered(spark, *rows)
    assert check(found, arguments(), COLUMNS) == (3, 1)
