"""Which types hold all values of others, and values that can be compared."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from kafka_spark_source.changes.types import comparable, fits, is_same


def parsed(spark: SparkSession, text: str) -> T.DataType:
    return spark.createDataFrame([], f"x {text}").schema["x"].dataType


pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("given", "there"),
    [
        ("int", "int"),
        ("tinyint", "bigint"),
        ("int", "bigint"),
        ("int", "double"),
        ("smallint", "float"),
        ("float", "double"),
        ("bigint", "decimal(19,0)"),
        ("int", "decimal(12,2)"),
        ("decimal(10,2)", "decimal(12,4)"),
        ("date", "timestamp_ntz"),
        ("void", "string"),
        ("array<int>", "array<bigint>"),
        ("map<string,int>", "map<string,bigint>"),
        ("struct<a: int, b: string>", "struct<A: bigint, b: string>"),
    ],
)
def test_a_type_that_has_all_values(spark: SparkSession, given: str, there: str) -> None:
    ours, theirs = parsed(spark, given), parsed(spark, there)
    assert fits(ours, theirs)
    assert fits(theirs, theirs)
    assert given.lower() == there.lower() or not fits(theirs, ours)


@pytest.mark.parametrize(
    ("given", "there"),
    [
        ("bigint", "int"),
        ("bigint", "double"),
        ("int", "float"),
        ("decimal(10,2)", "int"),
        ("decimal(12,4)", "decimal(10,2)"),
        ("decimal(10,2)", "decimal(10,4)"),
        ("decimal(5,2)", "double"),
        ("bigint", "decimal(18,0)"),
        ("double", "decimal(38,18)"),
        ("date", "timestamp"),
        ("timestamp", "timestamp_ntz"),
        ("timestamp_ntz", "date"),
        ("string", "int"),
        ("int", "string"),
        ("string", "binary"),
        ("boolean", "int"),
        ("array<bigint>", "array<int>"),
        ("array<int>", "int"),
        ("map<int,int>", "map<string,int>"),
        ("struct<a: int>", "struct<a: int, b: int>"),
        ("struct<a: int, b: int>", "struct<b: int, a: int>"),
    ],
)
def test_a_type_that_has_not(spark: SparkSession, given: str, there: str) -> None:
    assert not fits(parsed(spark, given), parsed(spark, there))


@pytest.mark.parametrize(
    ("type_", "value", "equal", "other"),
    [
        ("int", "1", "1", "2"),
        ("map<string,int>", "map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)", "map('a', 1)"),
        ("map<string,int>", "map('a', 1)", "map('a', 1)", "map('a', 2)"),
        ("array<map<int,int>>", "array(map(1, 2))", "array(map(1, 2))", "array(map(1, 3))"),
        (
            "struct<`x y`: map<int, map<int,int>>>",
            *(f"named_struct('x y', map(1, map(2, {each})))" for each in (3, 3, 4)),
        ),
        (
            "map<string,int>",
            "CAST(NULL AS map<string,int>)",
            "CAST(NULL AS map<string,int>)",
            "map()",
        ),
        (
            "struct<m: map<int,int>>",
            *(
                f"CAST({each} AS struct<m: map<int,int>>)"
                for each in ("NULL", "NULL", "struct(NULL)")
            ),
        ),
    ],
)
def test_equal_values_are_equal_and_others_are_not(
    spark: SparkSession, type_: str, value: str, equal: str, other: str
) -> None:
    def found(left: str, right: str) -> Any:
        frame = spark.sql(f"SELECT {left} AS l, {right} AS r")
        of = parsed(spark, type_)
        return frame.selectExpr(f"{comparable('l', of)} <=> {comparable('r', of)}").collect()[0][0]

    assert found(value, equal) is True
    assert found(value, other) is False


def test_values_of_other_types_are_compared_as_those_of_the_target() -> None:
    found = is_same("a", T.IntegerType(), T.LongType(), "s", "t")
    assert found == "CAST(s.`a` AS bigint) <=> t.`a`"
    assert is_same("a", T.LongType(), T.LongType(), "s", "t") == "s.`a` <=> t.`a`"
