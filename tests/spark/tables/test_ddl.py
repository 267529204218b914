"""Types and names as SQL spells them: Spark reads back the same type, whatever the names are."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from kafka_spark_source.tables.ddl import columns_text, path_text, type_text
from tests.spark.tables.test_growth import INT, LONG, TEXT, Array, struct, texts

ODD_NAMES = [
    *("a.b", "a`b", "`", "``", "a:b", "a,b", "a>b", "a b", "a\nb", "a'b", 'a"b', "a\\b", "é", "1"),
    *("select", "struct", "int", "a;--", "/* a */", "A", "x" * 300, "{topic}", "a=b", "<", "\t"),
]
TYPES = [
    *(T.ByteType(), T.ShortType(), INT, LONG, T.FloatType(), T.DoubleType(), T.BooleanType()),
    *(TEXT, T.BinaryType(), T.DateType(), T.TimestampType(), T.TimestampNTZType(), T.NullType()),
    *(T.DecimalType(), T.DecimalType(38, 38), T.DecimalType(1, 0), T.DayTimeIntervalType()),
    *(T.DayTimeIntervalType(0, 1), T.YearMonthIntervalType(), T.VariantType(), struct()),
    *(Array(INT), Array(Array(texts(TEXT))), T.MapType(struct(**{"k.`": INT}), Array(LONG))),
    struct(**{"a.b": struct(**{"c`d:": Array(struct(**{"e f": texts(struct(g=INT))}))}), "h": INT}),
    struct(**dict.fromkeys(ODD_NAMES, INT)),
]


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (INT, "int"),
        (LONG, "bigint"),
        (T.DecimalType(12, 2), "decimal(12,2)"),
        (T.TimestampNTZType(), "timestamp_ntz"),
        (Array(texts(INT)), "array<map<string, int>>"),
        (struct(), "struct<>"),
        (struct(**{"a.b": INT, "c`": TEXT}), "struct<`a.b`: int, `c```: string>"),
        (Array(struct(**{"x:y": struct(z=INT)})), "array<struct<`x:y`: struct<`z`: int>>>"),
    ],
)
def test_the_text_of_a_type(type_: T.DataType, text: str) -> None:
    assert type_text(type_) == text


def test_each_name_of_a_path_is_quoted() -> None:
    assert path_text(("a.b", "element", "c`d")) == "`a.b`.`element`.`c``d`"
    assert path_text(iter(["a"])) == "`a`"


def test_columns_can_be_null() -> None:
    columns = T.StructType([T.StructField("a.b", INT, nullable=False), T.StructField("c", TEXT)])
    assert columns_text(columns) == "`a.b` int, `c` string"
    assert columns_text(struct()) == ""


@pytest.mark.spark
def test_spark_reads_the_same_types(spark: SparkSession) -> None:
    columns = struct(**{f"column {number}": type_ for number, type_ in enumerate(TYPES)})
    assert spark.createDataFrame([], columns_text(columns)).schema == columns


@pytest.mark.spark
def test_spark_reads_the_same_names(spark: SparkSession) -> None:
    columns = struct(**dict.fromkeys(ODD_NAMES, TEXT))
    assert spark.createDataFrame([], columns_text(columns)).schema.names == ODD_NAMES
