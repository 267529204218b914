"""Rows of JSON through Spark, a real registry, and Confluent's serializers as a witness."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from tests.integration.conftest import Consume, MakeTopic, Read
from tests.witness import produce

pytestmark = [pytest.mark.integration, pytest.mark.spark]

ORDER = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "customer": {"oneOf": [{"type": "null"}, {"type": "string"}]},
        "amount": {"type": "number"},
        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        "lines": {"type": "array", "items": {"$ref": "#/definitions/Line"}},
    },
    "required": ["id"],
    "definitions": {"Line": {"properties": {"sku": {"type": "string"}}}},
}
DDL = (
    "struct<id:bigint,customer:string,amount:double,tags:map<string,string>,"
    "lines:array<struct<sku:string>>>"
)


def order(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "customer": None if number % 3 == 0 else f"customer {number}",
        "amount": number / 2,
        "tags": {"a": "b"},
        "lines": [{"sku": f"sku {i}"} for i in range(number % 4)],
    }


@pytest.fixture
def options(schema_registry: SchemaRegistry) -> dict[str, str]:
    return {"value.format": "json", "schema.registry.url": schema_registry.url}


def test_reads_what_confluents_serializer_wrote(
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    options: dict[str, str],
    read: Read,
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    serialize = JSONSerializer(json.dumps(ORDER), registered, lambda value, _: value)
    context = SerializationContext(topic, MessageField.VALUE)
    produce(
        kafka_cluster.bootstrap_servers,
        topic,
        [serialize(order(number), context) for number in range(50)],
    )
    produce(kafka_cluster.bootstrap_servers, topic, [None])
    found = read(subscribe=topic, **options)
    assert found.schema["value"].dataType.simpleString() == DDL
    rows = found.orderBy("offset").collect()
    assert [row["value"].asDict(recursive=True) for row in rows[:-1]] == [
        order(number) for number in range(50)
    ]
    assert rows[-1]["value"] is None
    part = read("value struct<lines: array<struct<sku: string>>>", subscribe=topic, **options)
    assert part.collect()[3]["value"].asDict(recursive=True) == {"lines": order(3)["lines"]}


def test_confluents_deserializer_reads_what_is_written(
    spark: SparkSession,
    servers: dict[str, str],
    registered: SchemaRegistryClient,
    options: dict[str, str],
    consume: Consume,
    read: Read,
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    frame = spark.createDataFrame([(order(number),) for number in range(20)], f"value {DDL}")
    writer = frame.coalesce(1).write.format("pykafka").options(**servers, **options, topic=topic)
    writer.option("auto.register.schemas", "true").mode("append").save()
    schema = registered.get_latest_version(f"{topic}-value").schema
    assert schema.schema_type == "JSON"
    deserialize = JSONDeserializer(schema.schema_str, schema_registry_client=registered)
    context = SerializationContext(topic, MessageField.VALUE)
    found = [deserialize(each.value(), context) for each in consume(topic, 0, 20)]
    assert found == [
        {name: value for name, value in order(number).items() if value is not None}
        for number in range(20)
    ]
    back = read(subscribe=topic, **options).orderBy("offset").select("value").collect()
    assert [row["value"].asDict(recursive=True) for row in back] == [*map(order, range(20))]
    other = frame.selectExpr("struct('text' AS id) AS value").write.format("pykafka")
    with pytest.raises(PySparkException, match="Column 'value' cannot be written with version 1"):
        other.options(**servers, **options, topic=topic).mode("append").save()


def test_without_any_schema(
    spark: SparkSession, kafka_cluster: KafkaCluster, read: Read, make_topic: MakeTopic
) -> None:
    """The type of the column says how to write, and that of the read how to read."""
    topic = make_topic()
    rows = spark.range(0, 3, 1, 1).selectExpr("struct(id, array(id) AS ids, 'x' AS `a b`) AS value")
    given = {
        "kafka.bootstrap.servers": kafka_cluster.bootstrap_servers,
        "value.format": "json",
    }
    rows.write.format("pykafka").options(**given, topic=topic).mode("append").save()
    assert [json.loads(row["value"]) for row in read(subscribe=topic).collect()] == [
        {"id": number, "ids": [number], "a b": "x"} for number in range(3)
    ]
    reader = spark.read.format("pykafka").options(**given, subscribe=topic)
    with pytest.raises(PySparkException, match=r"set value.schema, or give .schema\('value struct"):
        reader.load()
    back = reader.schema("value struct<ids: array<bigint>, `a b`: string>").load()
    assert [row["value"]["ids"] for row in back.collect()] == [[0], [1], [2]]
