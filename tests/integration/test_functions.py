"""from_avro and to_avro on any DataFrame."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from kafka_spark_source.functions import from_avro, to_avro
from kafka_spark_source.testing import SchemaRegistry
from tests.config_error import config_error

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.newest]

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


def test_there_and_back_without_a_registry(spark: SparkSession) -> None:
    encoded = orders(spark).select(to_avro("value", ORDER).alias("value"))
    assert encoded.select(from_avro("value", ORDER)).collect() == orders(spark).collect()


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
