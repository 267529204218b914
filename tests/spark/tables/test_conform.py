"""Rows with the types of a table: each value stays as it is, and what they lack is null."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from kafka_spark_source.tables.conform import conformed
from kafka_spark_source.tables.growth import Growth, growth
from tests.spark.tables.test_growth import INT, LONG, TEXT, Array, after, struct, texts
from tests.spark_session import INTERPRETED, settings


@pytest.mark.parametrize(
    ("rows", "table", "expressions"),
    [
        (struct(a=INT), struct(a=INT), ["`a` AS `a`"]),
        (struct(A=INT), struct(a=INT), ["`A` AS `a`"]),
        (struct(a=INT), struct(a=LONG), ["CAST(`a` AS bigint) AS `a`"]),
        (struct(b=INT, a=TEXT), struct(a=TEXT, b=INT), ["`a` AS `a`", "`b` AS `b`"]),
        (struct(), struct(a=texts(INT)), ["CAST(NULL AS map<string, int>) AS `a`"]),
        (struct(**{"x.`": INT}), struct(**{"x.`": LONG}), ["CAST(`x.``` AS bigint) AS `x.```"]),
        (struct(a=T.NullType()), struct(a=TEXT), ["CAST(`a` AS string) AS `a`"]),
        (struct(s=struct(x=INT)), struct(s=struct(x=INT)), ["`s` AS `s`"]),
        (
            struct(s=struct(x=INT)),
            struct(s=struct(y=TEXT, x=INT)),
            [
                "CASE WHEN `s` IS NOT NULL THEN "
                "struct(CAST(NULL AS string) AS `y`, `s`.`x` AS `x`) END AS `s`"
            ],
        ),
        (
            struct(l=Array(INT)),
            struct(l=Array(LONG)),
            ["transform(`l`, e0 -> CAST(e0 AS bigint)) AS `l`"],
        ),
    ],
)
def test_the_expression_of_a_column(
    rows: T.StructType, table: T.StructType, expressions: list[str]
) -> None:
    assert [*conformed(rows, table)] == expressions


def test_columns_that_rows_lack_can_be_left_out() -> None:
    rows, table = struct(b=INT), struct(a=INT, b=LONG, c=INT)
    assert [*conformed(rows, table, lacking=False)] == ["CAST(`b` AS bigint) AS `b`"]
    assert len([*conformed(rows, table)]) == 3


def test_lambdas_in_each_other_have_other_names() -> None:
    rows, table = (struct(m=texts(Array(each)), l=Array(Array(each))) for each in (INT, LONG))
    of_map, of_array = conformed(rows, table)
    assert "e0 -> " in of_map
    assert "transform(e0.value, e1 -> CAST(e1 AS bigint))" in of_map
    assert "transform(`l`, e0 -> transform(e0, e1 -> CAST(e1 AS bigint)))" in of_array


SMALL, FLOAT, DATE = T.ShortType(), T.FloatType(), T.DateType()
ROWS = struct(
    id=INT,
    S=struct(B=INT, a=struct(x=FLOAT)),
    l=Array(struct(n=SMALL, **{"o.`": Array(INT)})),
    m=T.MapType(INT, struct(d=DATE)),
    k=T.MapType(struct(K=INT), TEXT),
    e0=Array(Array(Array(struct(e0=INT, e1=FLOAT)))),
    d=T.DecimalType(5, 2),
    **{"x.y": texts(texts(INT)), "same": struct(z=Array(TEXT))},
)
# Other fields, another order, and wider types.
TABLE = struct(
    first=texts(INT),
    same=struct(z=Array(TEXT)),
    d=T.DecimalType(10, 1),
    s=struct(a=struct(w=TEXT, x=T.DoubleType()), b=LONG, c=Array(INT)),
    L=Array(struct(m=TEXT, N=INT)),
    m=T.MapType(LONG, struct(d=T.TimestampNTZType(), e=INT)),
    k=T.MapType(struct(k=LONG), TEXT),
    e0=Array(Array(Array(struct(e1=T.DoubleType(), e0=LONG, e2=INT)))),
    **{"X.Y": texts(texts(LONG))},
)
EXACT = 0.100000001490116119384765625  # the float that is nearest to 0.1
FULL: tuple[Any, ...] = (
    1,
    (-(2**31), (EXACT,)),
    [(2**15 - 1, [2**31 - 1, None]), None, (None, None), (0, [])],
    {7: (date(9999, 12, 31),), 8: None, -9: (None,)},
    {(2**31 - 1,): "k", (None,): None},
    [[[(5, EXACT), None], None, []], None],
    Decimal("-999.99"),
    {"a": {"b": 2**31 - 1, "c": None}, "n": None, "e": {}},
    (["z", None],),
)
IN_TABLE: dict[str, Any] = {
    "first": None,
    "same": {"z": ["z", None]},
    "d": Decimal("-999.99"),
    "s": {"a": {"w": None, "x": EXACT}, "b": -(2**31), "c": None},
    "L": [
        {"m": None, "N": 2**15 - 1, "o.`": [2**31 - 1, None]},
        None,
        {"m": None, "N": None, "o.`": None},
        {"m": None, "N": 0, "o.`": []},
    ],
    "m": {
        7: {"d": datetime(9999, 12, 31), "e": None},
        8: None,
        -9: {"d": None, "e": None},
    },
    "k": {(2**31 - 1,): "k", (None,): None},
    "e0": [[[{"e1": EXACT, "e0": 5, "e2": None}, None], None, []], None],
    "X.Y": {"a": {"b": 2**31 - 1, "c": None}, "n": None, "e": {}},
    "id": 1,
}
NULLS = (None,) * len(FULL)
EMPTY: tuple[Any, ...] = (2, (None, None), [], {}, {}, [[]], Decimal("0.01"), {"": None}, (None,))
HALF: tuple[Any, ...] = (3, (5, (None,)), [None], {0: None}, {}, [None], None, {}, None)


@pytest.mark.spark
def test_each_value_is_kept_and_what_rows_lack_is_null(spark: SparkSession) -> None:
    needed = growth(TABLE, ROWS, "delta")
    table = after(TABLE, needed)
    assert growth(table, ROWS, "delta") == Growth()
    with settings(spark, INTERPRETED):
        rows = spark.createDataFrame([FULL, NULLS, EMPTY, HALF], ROWS)
        result = rows.coalesce(1).selectExpr(*conformed(ROWS, table))
        assert [(each.name, each.dataType.simpleString()) for each in result.schema] == [
            (each.name, each.dataType.simpleString()) for each in table
        ]
        full, nulls, empty, half = (each.asDict(recursive=True) for each in result.collect())
    assert full == IN_TABLE
    assert nulls == dict.fromkeys(IN_TABLE)
    nothing: dict[str, Any] = {"first": None, "L": [], "m": {}, "k": {}, "e0": [[]]}
    assert empty == {
        **nothing,
        **{"same": {"z": None}, "d": Decimal("0.01"), "X.Y": {"": None}, "id": 2},
        "s": {"a": None, "b": None, "c": None},
    }
    assert half == {
        **nothing,
        **{"same": None, "d": None, "X.Y": {}, "id": 3, "L": [None], "m": {0: None}, "e0": [None]},
        "s": {"a": {"w": None, "x": None}, "b": 5, "c": None},
    }
