"""Which types a table's column can become, one by one, and what is refused, by name."""

from __future__ import annotations

import pytest
from pyspark.sql import types as T

from kafka_spark_source.tables.growth import At, Growth, Path, growth, wider
from tests.spark.tables.test_growth import (
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INSTANT,
    INT,
    LONG,
    MOMENT,
    SHORT,
    TEXT,
    VOID,
    Array,
    Decimal,
    struct,
    texts,
)

BOTH = ("delta", "iceberg")


@pytest.mark.parametrize(
    ("there", "rows", "delta", "iceberg"),
    [
        (BYTE, SHORT, SHORT, None),
        (BYTE, INT, INT, None),
        (BYTE, LONG, LONG, None),
        (BYTE, FLOAT, DOUBLE, None),
        (SHORT, INT, INT, None),
        (SHORT, DOUBLE, DOUBLE, None),
        (INT, LONG, LONG, LONG),
        (INT, FLOAT, DOUBLE, None),
        (INT, DOUBLE, DOUBLE, None),
        (FLOAT, DOUBLE, DOUBLE, DOUBLE),
        (DATE, MOMENT, MOMENT, None),
        (INT, Decimal(5, 2), Decimal(12, 2), None),
        (INT, Decimal(12, 0), Decimal(12, 0), None),
        (BYTE, Decimal(3, 1), Decimal(11, 1), None),
        (LONG, Decimal(5, 2), Decimal(22, 2), None),
        (LONG, Decimal(38, 18), Decimal(38, 18), None),
        (LONG, Decimal(20, 19), None, None),
        (Decimal(10, 2), Decimal(12, 2), Decimal(12, 2), Decimal(12, 2)),
        (Decimal(10, 2), Decimal(12, 1), Decimal(13, 2), Decimal(13, 2)),
        (Decimal(10, 2), Decimal(10, 4), Decimal(12, 4), None),
        (Decimal(10, 2), Decimal(12, 4), Decimal(12, 4), None),
        (Decimal(4, 2), INT, Decimal(12, 2), Decimal(12, 2)),
        (Decimal(38, 0), Decimal(2, 1), None, None),
        (Decimal(38, 37), Decimal(2, 0), None, None),
        (Decimal(38, 20), LONG, None, None),
        (Decimal(10, 2), DOUBLE, None, None),
        (LONG, DOUBLE, None, None),
        (LONG, FLOAT, None, None),
        (DOUBLE, LONG, None, None),
        (DOUBLE, Decimal(3, 1), None, None),
        (DATE, INSTANT, None, None),
        (INSTANT, MOMENT, None, None),
        (TEXT, INT, None, None),
        (INT, TEXT, None, None),
        (T.BinaryType(), TEXT, None, None),
        (T.BooleanType(), INT, None, None),
        (Array(INT), LONG, None, None),
        (texts(INT), struct(a=INT), None, None),
        (struct(a=INT), texts(INT), None, None),
    ],
    ids=lambda each: each.simpleString() if each else "none",
)
def test_a_type_becomes_a_wider_one_or_none(
    there: T.DataType, rows: T.DataType, delta: T.DataType | None, iceberg: T.DataType | None
) -> None:
    assert wider(there, rows, "delta") == delta
    assert wider(there, rows, "iceberg") == iceberg


@pytest.mark.parametrize("provider", BOTH)
@pytest.mark.parametrize(
    ("table", "rows", "path", "type_"),
    [
        (struct(a=INT), struct(A=LONG), ("a",), LONG),
        (struct(s=struct(x=FLOAT)), struct(s=struct(X=DOUBLE)), ("s", "x"), DOUBLE),
        (struct(l=Array(INT)), struct(l=Array(LONG)), ("l", "element"), LONG),
        (struct(m=texts(INT)), struct(m=texts(LONG)), ("m", "value"), LONG),
        (
            struct(l=Array(texts(struct(x=INT)))),
            struct(l=Array(texts(struct(x=LONG)))),
            ("l", "element", "value", "x"),
            LONG,
        ),
        (struct(d=Decimal(10, 2)), struct(d=Decimal(12, 2)), ("d",), Decimal(12, 2)),
    ],
)
def test_what_is_widened(
    table: T.StructType, rows: T.StructType, path: Path, type_: T.DataType, provider: str
) -> None:
    assert growth(table, rows, provider) == Growth(widened=(At(path, type_),))


@pytest.mark.parametrize("provider", BOTH)
@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (struct(), struct()),
        (struct(a=INT, b=TEXT), struct(B=TEXT, A=INT)),
        (struct(a=INT, b=TEXT), struct(a=INT)),
        (struct(a=LONG, b=DOUBLE, c=MOMENT), struct(a=BYTE, b=FLOAT, c=DATE)),
        (struct(a=Decimal(12, 2)), struct(a=INT)),
        (struct(a=INT, s=struct(x=INT), l=Array(TEXT)), struct(a=VOID, s=VOID, l=Array(VOID))),
        (struct(s=struct(x=INT, y=INT)), struct(S=struct(Y=INT, X=SHORT))),
        (struct(m=T.MapType(LONG, TEXT)), struct(m=T.MapType(INT, TEXT))),
        (struct(s=struct(x=INT)), struct(s=struct())),
    ],
)
def test_rows_for_which_nothing_is_needed(
    table: T.StructType, rows: T.StructType, provider: str
) -> None:
    assert growth(table, rows, provider) == Growth()


@pytest.mark.parametrize("provider", BOTH)
@pytest.mark.parametrize(
    ("table", "rows", "names"),
    [
        (struct(a=TEXT), struct(A=INT), ["`a`", "int", "string"]),
        (
            struct(s=struct(x=TEXT)),
            struct(s=struct(x=struct(y=INT))),
            ["`s`.`x`", "struct<`y`: int>", "string"],
        ),
        (struct(l=Array(TEXT)), struct(l=Array(INT)), ["`l`.`element`", "int"]),
        (struct(m=texts(TEXT)), struct(m=texts(INT)), ["`m`.`value`", "int"]),
        (struct(m=T.MapType(INT, TEXT)), struct(m=T.MapType(LONG, TEXT)), ["`m`.`key`", "bigint"]),
        (
            struct(m=T.MapType(struct(x=INT), TEXT)),
            struct(m=T.MapType(struct(x=INT, y=INT), TEXT)),
            ["`m`.`key`", "`y`"],
        ),
        (struct(**{"x.y`": TEXT}), struct(**{"X.Y`": INT}), ["`x.y```"]),
        (struct(), struct(a=VOID), ["`a`", "void"]),
        (struct(s=struct(x=INT)), struct(s=struct(a=VOID)), ["`s`.`a`", "void"]),
        (struct(), struct(l=Array(texts(VOID))), ["`l`", "void"]),
        (struct(), struct(m=T.MapType(struct(a=VOID), INT)), ["`m`", "void"]),
        (struct(), struct(a=T.DayTimeIntervalType()), ["`a`", "interval"]),
        (struct(), struct(s=struct(l=Array(T.DayTimeIntervalType()))), ["`s`", "interval"]),
        (struct(), struct(a=T.VariantType()), ["`a`", "variant"]),
        (struct(), struct(s=struct()), ["`s`", "struct without fields"]),
        (struct(), struct(s=struct(t=Array(struct()))), ["`s`", "struct without fields"]),
        (struct(), T.StructType([*struct(a=INT), *struct(A=INT)]), ["`a`", "`A`"]),
        (struct(a=INT), T.StructType([*struct(A=INT), *struct(a=INT)]), ["`a`", "`A`"]),
        (
            struct(s=struct(x=INT)),
            struct(s=T.StructType([*struct(x=INT), *struct(X=INT)])),
            ["`s`.`x`", "`s`.`X`"],
        ),
    ],
)
def test_what_is_refused_is_named(
    table: T.StructType, rows: T.StructType, names: list[str], provider: str
) -> None:
    needed = growth(table, rows, provider)
    assert len(needed.refused) == 1
    assert [each for each in names if each not in needed.refused[0]] == []
    assert needed.widened == ()
    assert [each for each in needed.added if each.path[0] != "a"] == []


def test_one_name_twice_is_refused() -> None:
    twice = T.StructType([*struct(a=INT), *struct(a=TEXT)])
    needed = growth(struct(), twice, "delta")
    assert needed.added == ()
    assert "`a`" in needed.refused[0]


@pytest.mark.parametrize("rows", [Array(struct()), struct(x=INT)])
def test_two_names_of_an_added_struct_are_refused(rows: T.DataType) -> None:
    inner = T.StructType([*struct(x=INT), *struct(X=INT)])
    column = Array(inner) if isinstance(rows, T.ArrayType) else inner
    assert growth(struct(), struct(s=column), "delta").refused


@pytest.mark.parametrize("type_", [T.YearMonthIntervalType(), T.CalendarIntervalType()])
def test_each_interval_is_refused(type_: T.DataType) -> None:
    assert growth(struct(), struct(a=type_), "delta").refused


@pytest.mark.parametrize(
    ("there", "rows", "to"),
    [
        (Decimal(37, 19), LONG, Decimal(38, 19)),
        (Decimal(4, 2), BYTE, Decimal(5, 2)),
        (Decimal(30, 28), SHORT, Decimal(33, 28)),
    ],
)
def test_the_smallest_decimal_for_a_whole_number(
    there: T.DataType, rows: T.DataType, to: T.DataType
) -> None:
    assert wider(there, rows, "delta") == to
