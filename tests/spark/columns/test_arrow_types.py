"""Spark's types and Arrow's, there and back."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql import types as T

from kafka_formats.arrow.types import as_nullable
from kafka_formats.avro.schema import parse_schema
from kafka_formats.avro.types import arrow_type
from kafka_protocol.columnar.arrays.schema import RECORD_SCHEMA
from kafka_spark_source.columns.arrow_types import to_arrow, to_arrow_schema, to_spark
from kafka_spark_source.schema import source_schema
from tests.config_error import config_error
from tests.formats.avro.payloads import Json, schemas

pytestmark = pytest.mark.core


@given(schemas())
def test_types_of_payloads_there_and_back(schema: Json) -> None:
    for found in (arrow := arrow_type(parse_schema(json.dumps(schema))), as_nullable(arrow)):
        assert to_arrow(to_spark(found)).equals(found)


@pytest.mark.parametrize("nullable", [True, False])
def test_parts_are_null_or_not_in_both(nullable: bool) -> None:
    spark = T.StructType(
        [
            T.StructField("list", T.ArrayType(T.LongType(), nullable), nullable),
            T.StructField("map", T.MapType(T.StringType(), T.DateType(), nullable), nullable),
            T.StructField("decimal", T.DecimalType(38, 3), nullable),
        ]
    )
    arrow = to_arrow(spark)
    assert to_spark(arrow) == spark
    assert [field.nullable for field in arrow] == [nullable] * 3
    assert arrow.field("list").type.value_field.nullable is nullable
    assert arrow.field("map").type.item_field.nullable is nullable
    assert as_nullable(arrow).equals(arrow) is nullable


def test_the_columns_of_the_source_are_those_that_are_decoded() -> None:
    assert to_arrow_schema(source_schema(include_headers=True)).equals(RECORD_SCHEMA)


def test_a_type_that_payloads_do_not_have_is_refused() -> None:
    interval = T.StructType([T.StructField("i", T.YearMonthIntervalType())])
    assert "Payloads have no type" in config_error(to_arrow, interval)
    assert to_spark(pa.null()) == T.NullType()
