"""The column that orders changes, for those who compare sequences themselves."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.changes import change_sequence
from kafka_spark_source.changes.rows import changes_of, columns_of
from tests.spark.changes.test_arguments import arguments

pytestmark = pytest.mark.spark

MYSQL = ("CAST(split_part(source.file, '.', -1) AS BIGINT)", "source.pos")
SCHEMA = (
    "id bigint, op string, source struct<lsn: bigint, file: string, pos: bigint>, offset bigint"
)


def rows(spark: SparkSession, *changes: tuple[int | None, str, int, int | None]) -> DataFrame:
    """Changes of one row: position in PostgreSQL, file and position in MySQL, and offset."""
    found = [(1, "u", (lsn, file, pos), offset) for lsn, file, pos, offset in changes]
    return spark.createDataFrame(found, SCHEMA)


def order_of(changes: DataFrame, *positions: str, **given: Any) -> list[int]:
    """Offsets in the order of the sequence."""
    ordered = changes.orderBy(change_sequence(*positions, **given))
    return [row.offset for row in ordered.collect()]


@pytest.mark.core
def test_the_database_orders_changes_and_then_the_offset(spark: SparkSession) -> None:
    changes = rows(spark, (20, "", 0, 9), (10, "", 0, 11), (20, "", 0, 10), (3, "", 0, 12))
    assert order_of(changes, "source.lsn") == [12, 11, 9, 10]
    assert order_of(changes) == [9, 10, 11, 12]


def test_numbers_in_names_of_files_are_numbers(spark: SparkSession) -> None:
    changes = rows(spark, (0, "b.1000000", 4, 1), (0, "b.999999", 70, 2), (0, "b.1000000", 30, 3))
    assert order_of(changes, *MYSQL) == [2, 1, 3]


def test_there_is_no_sequence_without_each_of_its_values(spark: SparkSession) -> None:
    changes = rows(spark, (None, "", 0, 1), (10, "", 0, None), (10, "", 0, 2))
    (shown,) = changes.where(change_sequence("source.lsn").isNotNull()).collect()
    assert shown.offset == 2


@pytest.mark.parametrize("position", [5, None, "", ["lsn"]])
def test_a_position_that_is_no_text(position: Any) -> None:
    with pytest.raises(KafkaConfigError, match=r"as texts, e\.g\. 'source\.lsn', not"):
        change_sequence(position)


@pytest.mark.parametrize("prefix", ["__", "a b."])
def test_the_offset_has_the_prefix_of_the_read(spark: SparkSession, prefix: str) -> None:
    changes = rows(spark, (10, "", 0, 2), (10, "", 0, 1)).withColumnRenamed(
        "offset", f"{prefix}offset"
    )
    ordered = changes.orderBy(change_sequence("source.lsn", prefix=prefix)).collect()
    assert [row[f"{prefix}offset"] for row in ordered] == [1, 2]


def test_it_is_the_sequence_of_apply_changes(spark: SparkSession) -> None:
    changes = rows(spark, (10, "", 0, 7))
    parsed = arguments(sequence_by=["source.lsn", "offset"])
    applied = changes_of(changes, parsed, columns_of(changes, parsed)).select("_sequence.*")
    sequence = changes.select(change_sequence("source.lsn").alias("found")).select("found.*")
    assert sequence.columns == applied.columns == ["source_lsn", "offset"]
    assert sequence.collect() == applied.collect()
