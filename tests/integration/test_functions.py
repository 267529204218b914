"""Functions of Avro and Protobuf on any DataFrame."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.descriptors import files_of
from kafka_formats.query.formats import FORMATS
from kafka_spark_source.columns.arrow_types import to_arrow
from kafka_spark_source.functions import from_avro, from_protobuf, to_avro, to_protobuf
from kafka_spark_source.testing import SchemaRegistry
from tests.config_error import config_error
from tests.formats.protobuf.messages import message_class

pytestmark = [pytest.mark.integration, pytest.mark.spark]

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "who", "type": ["null", "string"], "default": None},
            {"name": "parts", "type": {"type": "array", "items": "int"}},
        ],
    }
)
PROTO = """
syntax = "proto3";
package shop;
message Other { int64 id = 1; }
message Order {
  optional int64 id = 1;
  optional string who = 2;
  repeated int32 parts = 3;
}
"""
DESCRIPTORS = files_of(SchemaText(PROTO))
_numbers = itertools.count(1)


@pytest.fixture
def subject() -> str:
    return f"functions-{next(_numbers)}"


def orders(spark: SparkSession) -> DataFrame:
    return spark.range(20).selectExpr(
        "if(id = 7, null, struct(id, if(id % 2 = 0, null, concat('who ', id)) AS who, "
        "array(int(id), 1) AS parts)) AS value"
    )


def test_there_and_back_with_a_registry(
    spark: SparkSession, schema_registry: SchemaRegistry, subject: str
) -> None:
    at: dict[str, Any] = {"subject": subject, "schemaRegistryAddress": schema_registry.url}
    register = {"auto.register.schemas": "true"}
    encoded = orders(spark).select(to_avro("value", ORDER, options=register, **at).alias("value"))
    rows = [row["value"] for row in encoded.collect()]
    with SchemaRegistryClient({"url": schema_registry.url}) as client:
        deserialize = AvroDeserializer(client)
        context = SerializationContext("any", MessageField.VALUE)
        found = [row and deserialize(bytes(row), context) for row in rows]
    assert found[3] == {"id": 3, "who": "who 3", "parts": [3, 1]}
    assert found[7] is None
    decoded = encoded.select(from_avro("value", **at).alias("value"))
    assert decoded.schema["value"].dataType.simpleString() == (
        "struct<id:bigint,who:string,parts:array<int>>"
    )
    assert decoded.collect() == orders(spark).collect()
    assert decoded.select("value.id").where("value.id = 3").count() == 1


@pytest.mark.core
def test_there_and_back_without_a_registry(spark: SparkSession) -> None:
    encoded = orders(spark).select(to_avro("value", ORDER).alias("value"))
    assert encoded.select(from_avro("value", ORDER)).collect() == orders(spark).collect()


ALL_TYPES = """
    if(id = 7, null, named_struct(
        'truth', if(id = 1, null, id % 2 = 0),
        'small', if(id = 2, null, int(id - 2147483648L)),
        'large', if(id = 3, null, 1152921504606846977L + id),
        'single', if(id = 4, null, float(number)),
        'double', if(id = 5, null, double(number)),
        'bytes', if(id = 6, null, unhex(repeat('00ff', int(id)))),
        'text', if(id = 8, null, concat('é\\u0001\\n"\\\\ ', id)),
        'day', if(id = 9, null, date_add(date '1500-02-27', int(id * 30000))),
        'moment', if(id = 10, null, timestamp_micros(id * 11111111111111111L - 62000000000000000L)),
        'local', if(id = 11, null, timestamp_ntz '0004-01-01 00:00:00.000001' + years),
        'exact', if(id = 12, null, cast(id || '2345678901234567.12345678901' AS decimal(38, 18))),
        'list', if(id = 13, null, array(1152921504606846977L, if(id = 14, null, id))),
        'map', if(id = 15, null, map('a', double('NaN'), 'b', null)),
        'nested', if(id = 16, null, array(named_struct('x', int(null), 'y', numbers), null))
    ))
"""


@pytest.mark.core
def test_all_types_there_and_back(spark: SparkSession) -> None:
    """Where values go through texts (PySpark 4.0), they are what they were."""
    rows = spark.range(20).selectExpr(
        "id",
        "element_at(array('0.1', 'NaN', '-0', '-Infinity'), int(id % 4) + 1) AS number",
        "make_interval(id * 500) AS years",
        "if(id = 17, null, array(1, null)) AS numbers",
    )
    given = rows.selectExpr(f"{ALL_TYPES} AS value")
    avro = FORMATS[Format.AVRO]
    schema = avro.derive(to_arrow(given.schema["value"].dataType))
    encoded = given.select(to_avro("value", schema.text).alias("value"))
    values = given.toArrow().column("value").combine_chunks()
    payloads = encoded.toArrow().column("value").combine_chunks()
    assert payloads.drop_null().equals(avro.encoder(schema).encode(values.drop_null()))
    decoded = encoded.select(from_avro("value", schema.text).alias("value")).toArrow()
    assert repr(decoded.column("value").to_pylist()) == repr(values.to_pylist())


def test_broken_payloads(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [(bytearray(b"\x02\x00\x00"),), (bytearray(b"\x02"),)], "v binary"
    )
    permissive = frame.select(from_avro("v", ORDER, {"mode": "PERMISSIVE"}).alias("v"))
    assert [row["v"] is None for row in permissive.collect()] == [False, True]
    with pytest.raises(PySparkException, match=r"MALFORMED_MESSAGE.* A payload: field who: "):
        frame.select(from_avro("v", ORDER)).collect()


def test_what_cannot_be_used_is_refused_before_a_query_runs(
    schema_registry: SchemaRegistry,
) -> None:
    assert "A schema is missing" in config_error(from_avro, "v")
    assert "A schema is missing" in config_error(to_avro, "v", subject="s")
    mode = {"mode": "DROPMALFORMED"}
    assert "must be FAILFAST or PERMISSIVE" in config_error(from_avro, "v", ORDER, mode)
    wrong = {"confluent.schema.registry.bearer.auth.tokens": "x"}
    assert "did you mean 'schema.registry.bearer.auth.token'?" in config_error(
        from_avro, "v", None, wrong, "s", schema_registry.url
    )


def test_protobuf_there_and_back_with_a_registry(
    spark: SparkSession,
    registered: SchemaRegistryClient,
    schema_registry: SchemaRegistry,
    subject: str,
) -> None:
    schema_id = registered.register_schema(subject, Schema(PROTO, "PROTOBUF"))
    at: dict[str, Any] = {"subject": subject, "schemaRegistryAddress": schema_registry.url}
    encoded = orders(spark).select(to_protobuf("value", "Order", **at).alias("value"))
    rows = [row["value"] and bytes(row["value"]) for row in encoded.collect()]
    # Order is the second message of its file: the index is one number, 1 in zigzag.
    assert rows[3][:7] == b"\0" + schema_id.to_bytes(4, "big") + b"\x02\x02"
    assert rows[7] is None
    parsed = message_class(SchemaText(PROTO), "shop.Order")
    deserialize = ProtobufDeserializer(parsed, {"use.deprecated.format": False})
    context = SerializationContext("any", MessageField.VALUE)
    assert deserialize(rows[3], context) == parsed(id=3, who="who 3", parts=[3, 1])
    options = {
        "schema.registry.subject": subject,
        "schema.registry.address": schema_registry.url,
        "schema.registry.protobuf.name": "shop.Order",
    }
    by_arguments = from_protobuf("value", "Order", **at).alias("one")
    by_options = from_protobuf("value", options=options).alias("other")
    decoded = encoded.select(by_arguments, by_options)
    assert {field.dataType.simpleString() for field in decoded.schema} == {
        "struct<id:bigint,who:string,parts:array<int>>"
    }
    assert decoded.collect() == orders(spark).selectExpr("value", "value").collect()
    other = encoded.select(from_protobuf("value", "Other", **at))
    with pytest.raises(PySparkException, match=r"it is a shop\.Order, not a shop\.Other"):
        other.collect()


def test_protobuf_there_and_back_without_a_registry(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "shop.desc"
    file.write_bytes(DESCRIPTORS)
    encoded = orders(spark).select(to_protobuf("value", "Order", str(file)).alias("value"))
    decoded = from_protobuf("value", "shop.Order", binaryDescriptorSet=DESCRIPTORS)
    assert encoded.select(decoded).collect() == orders(spark).collect()


def test_a_descriptor_set_is_registered(
    spark: SparkSession,
    registered: SchemaRegistryClient,
    schema_registry: SchemaRegistry,
    subject: str,
) -> None:
    at: dict[str, Any] = {"subject": subject, "schemaRegistryAddress": schema_registry.url}
    given: dict[str, Any] = {**at, "binaryDescriptorSet": DESCRIPTORS}
    said = config_error(to_protobuf, "value", "Order", **given)
    assert f"is not in the subject {subject!r}: register it there, or set auto" in said
    auto = {"auto.register.schemas": "true"}
    encoded = orders(spark).select(to_protobuf("value", "Order", options=auto, **given).alias("v"))
    schema_id = registered.get_latest_version(subject).schema_id or 0
    row = encoded.collect()[3]["v"]
    assert bytes(row[:7]) == b"\0" + schema_id.to_bytes(4, "big") + b"\x02\x02"
    decoded = encoded.select(from_protobuf("v", "Order", **at).alias("value"))
    assert decoded.collect() == orders(spark).collect()
    # What is there is found, not only what was registered.
    again = orders(spark).select(to_protobuf("value", "Order", **given).alias("v"))
    assert again.collect() == encoded.collect()
