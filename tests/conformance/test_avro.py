"""Payloads of Avro have the types and the values that Spark's `from_avro` gives them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Row, SparkSession
from pyspark.sql.avro.functions import from_avro

from kafka_formats.arrow.types import as_nullable
from kafka_formats.avro.decode import decode
from kafka_formats.avro.resolve import resolve
from kafka_formats.avro.schema import parse_schema
from kafka_formats.avro.types import arrow_type
from kafka_spark_source.columns.arrow_types import to_spark
from tests.formats.avro.payloads import Json, payload, schemas, varint, with_length

# Spark refuses dates before the Gregorian calendar unless told which calendar they have.
OPTIONS = {"mode": "FAILFAST", "datetimeRebaseMode": "CORRECTED"}


def from_spark(
    spark: SparkSession,
    rows: Sequence[Sequence[bytes | None]],
    written: Sequence[Json],
    options: Mapping[str, str] = OPTIONS,
    read: Json = None,
) -> Any:
    """One column for each schema."""
    names = [f"c{number}" for number in range(len(written))]
    types = ", ".join(f"{name} binary" for name in names)
    frame = spark.createDataFrame([tuple(row) for row in zip(*rows, strict=True)], types)
    more = {} if read is None else {"avroSchema": json.dumps(read)}
    return frame.select(
        *(
            from_avro(name, json.dumps(schema), {**options, **more}).alias(name)
            for name, schema in zip(names, written, strict=True)
        )
    )


def record(*fields: Json) -> Json:
    return {"type": "record", "name": "Top", "fields": list(fields)}


def field(name: str, schema: Json, **more: Any) -> Json:
    return {"name": name, "type": schema} | more


def type_of(schema: Json) -> pa.DataType:
    return arrow_type(parse_schema(json.dumps(schema)))


def plain(value: Any) -> Any:
    """A value of either side, as one that is equal."""
    if isinstance(value, Row):
        return plain(value.asDict())
    if isinstance(value, dict):
        return {name: plain(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, datetime) and value.tzinfo is not None:
        # As PySpark shows timestamps.
        return value.astimezone().replace(tzinfo=None)
    if isinstance(value, Decimal):
        # Spark shows -0.00000078 as -7.80E-7.
        return value.normalize()
    return bytes(value) if isinstance(value, bytearray) else value


def as_text(values: Iterable[Any]) -> list[str]:
    """Not-a-number is equal to itself as text."""
    return [str(plain(each)) for each in values]


# To shrink a failure would take as many queries as finding it.
@settings(
    max_examples=max(1, settings().max_examples // 25),
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(parts=st.lists(schemas(), min_size=12, max_size=12), data=st.data())
def test_generated_payloads(spark: SparkSession, parts: list[Json], data: st.DataObject) -> None:
    # Spark takes no wide union but in a record, and gives no null for a record without fields.
    written = [record(field("a", each)) for each in parts if "struct<>" not in str(type_of(each))]
    drawn = [[payload(data.draw, schema) for _ in range(2)] for schema in written]
    rows = [each * 5 for each in drawn]
    found = from_spark(spark, rows, written)
    values = found.collect()
    for number, schema in enumerate(written):
        tree, to = parse_schema(json.dumps(schema)), type_of(schema)
        assert found.schema[number].dataType == to_spark(to), schema
        ours = decode(pa.array(rows[number], pa.binary()), resolve(tree, tree))
        assert not ours.is_broken.any()
        shown = ours.values.to_pylist(maps_as_pydicts="strict")
        assert as_text(shown) == as_text(row[number] for row in values), schema


def test_a_union_of_annotated_numbers_has_raw_ones(spark: SparkSession) -> None:
    date, time = {"type": "int", "logicalType": "date"}, "local-timestamp-millis"
    schema = record(field("a", ["null", date, {"type": "long", "logicalType": time}]))
    rows = [varint(0), varint(1) + varint(-3), varint(2) + varint(1 << 40)]
    found = from_spark(spark, [rows], [schema])
    assert found.schema[0].dataType == to_spark(type_of(schema))
    tree = parse_schema(json.dumps(schema))
    ours = decode(pa.array(rows, pa.binary()), resolve(tree, tree)).values
    assert as_text(ours.to_pylist()) == as_text(row[0] for row in found.collect())


ONE = record(field("a", "int"), field("b", "string"), field("e", ["null", "string"]))
PAYLOAD = varint(3) + with_length(b"bee") + varint(1) + with_length(b"x")


@pytest.mark.parametrize(
    "read",
    [
        record(field("b", "string"), field("a", "long")),
        record(field("a", "double"), field("b", "bytes")),
        record(field("new", "string", default="n"), field("a", ["null", "int"])),
        record(field("c", "string", aliases=["b"]), field("e", ["string", "null"])),
        record(field("n", {"type": "array", "items": "int"}, default=[1, 2])),
        record(field("a", ["null", "string", "long"])),
        record(
            field("e", ["null", "string"]),
            field("m", {"type": "map", "values": "int"}, default={"k": 1}),
        ),
    ],
)
def test_resolution_to_another_schema(spark: SparkSession, read: Json) -> None:
    tree = parse_schema(json.dumps(read))
    found = from_spark(spark, [[PAYLOAD]], [ONE], read=read)
    assert found.schema[0].dataType == to_spark(arrow_type(tree))
    ours = decode(
        pa.array([PAYLOAD], pa.binary()), resolve(parse_schema(json.dumps(ONE)), tree)
    ).values
    shown = ours.to_pylist(maps_as_pydicts="strict")
    assert as_text(shown) == as_text(row[0] for row in found.collect())


def test_permissive_makes_all_parts_nullable(spark: SparkSession) -> None:
    schema = record(field("a", {"type": "array", "items": "int"}), field("b", ["null", "long"]))
    found = from_spark(spark, [[b"\x01"]], [schema], {"mode": "PERMISSIVE"})
    to = as_nullable(arrow_type(parse_schema(json.dumps(schema))))
    assert found.schema[0].dataType == to_spark(to)
    # Ours is null for a broken payload.
    assert found.collect()[0][0].asDict() == {"a": None, "b": None}
