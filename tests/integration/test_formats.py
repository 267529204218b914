"""Rows of Avro through Spark, a real registry, and Confluent's serializers as a witness."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from tests.fakes.glue import glue, version_id
from tests.fakes.registry import registry
from tests.formats.schema_ids.test_glue import framed as framed_as_by_glue
from tests.integration.conftest import Consume, MakeTopic, Read
from tests.own_process import run_module
from tests.witness import produce

pytestmark = [pytest.mark.integration, pytest.mark.spark]

LINE = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": "sku", "type": "string"}, {"name": "count", "type": "int"}],
}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
STATE = {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "long"},
    {"name": "customer", "type": ["null", "string"], "default": None},
    {"name": "amount", "type": MONEY},
    {"name": "state", "type": STATE},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "lines", "type": {"type": "array", "items": LINE}},
    {"name": "tags", "type": {"type": "map", "values": "double"}},
    {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
    {"name": "either", "type": ["int", "string"]},
]
ORDER = {"type": "record", "name": "Order", "namespace": "shop", "fields": FIELDS}
NEWER = ORDER | {"fields": [*FIELDS, {"name": "note", "type": "string", "default": "none"}]}
DDL = (
    "struct<id:bigint,customer:string,amount:decimal(9,2),state:string,day:date,at:timestamp,"
    "lines:array<struct<sku:string,count:int>>,tags:map<string,double>,hash:binary,"
    "either:struct<member0:int,member1:string>>"
)
AT = datetime(2026, 11, 23, 12, 30, 0, 123_000, tzinfo=timezone.utc)


def order(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "customer": None if number % 3 == 0 else f"customer {number}",
        "amount": Decimal(number) / 100,
        "state": "PAID" if number % 2 else "NEW",
        "day": date(2026, 11, 23),
        "at": AT,
        "lines": [{"sku": f"sku {i}", "count": i} for i in range(number % 4)],
        "tags": {"a": 0.5, "b": float(number)},
        "hash": number.to_bytes(4, "big"),
        "either": number if number % 2 else f"number {number}",
    }


def shown(row: Row) -> dict[str, Any]:
    """A row of Spark's as the witness gives it."""
    found = row.asDict(recursive=True)
    # PySpark shows timestamps without their time zone, in that of the machine.
    found["at"] = found["at"].astimezone(timezone.utc)
    found["hash"] = bytes(found["hash"])
    either = found["either"]
    found["either"] = either["member1"] if either["member0"] is None else either["member0"]
    return found


@pytest.fixture
def avro(schema_registry: SchemaRegistry) -> dict[str, str]:
    return {"value.format": "avro", "schema.registry.url": schema_registry.url}


def framed(
    client: SchemaRegistryClient, topic: str, schema: dict[str, Any], values: Iterable[Any]
) -> list[bytes]:
    """Values as Confluent's serializer writes them; it registers the schema."""
    serialize = AvroSerializer(client, json.dumps(schema))
    context = SerializationContext(topic, MessageField.VALUE)
    return [serialize(value, context) for value in values]


def test_reads_what_confluents_serializer_wrote(
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    avro: dict[str, str],
    read: Read,
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    orders = [order(number) for number in range(50)]
    newer = [order(number) | {"note": f"note {number}"} for number in range(50, 60)]
    produce(kafka_cluster.bootstrap_servers, topic, framed(registered, topic, ORDER, orders))
    before = read(subscribe=topic, **avro)
    assert before.schema["value"].dataType.simpleString() == DDL
    produce(kafka_cluster.bootstrap_servers, topic, framed(registered, topic, NEWER, newer))
    produce(kafka_cluster.bootstrap_servers, topic, [None])
    # The columns of a DataFrame stay: a version that came later is resolved to its own.
    rows = before.orderBy("offset").collect()
    assert [shown(row["value"]) for row in rows[:-1]] == [order(number) for number in range(60)]
    assert rows[-1]["value"] is None
    after = read(subscribe=topic, **avro).where("value is not null").orderBy("offset")
    notes = [row["note"] for row in after.select("value.note").collect()]
    assert notes == ["none"] * 50 + [f"note {number}" for number in range(50, 60)]
    part = read(
        "value struct<lines: array<struct<sku: string>>>, offset long", subscribe=topic, **avro
    )
    assert part.where("offset = 3").collect()[0]["value"].asDict(recursive=True) == {
        "lines": [{"sku": "sku 0"}, {"sku": "sku 1"}, {"sku": "sku 2"}]
    }


@pytest.mark.parametrize(
    "guarantee", [pytest.param("at_least_once", marks=pytest.mark.slow), "exactly_once"]
)
def test_confluents_deserializer_reads_what_is_written(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    avro: dict[str, str],
    consume: Consume,
    read: Read,
    make_topic: MakeTopic,
    guarantee: str,
) -> None:
    topic = make_topic()
    registered.register_schema(f"{topic}-value", Schema(json.dumps(ORDER), "AVRO"))
    rows = [
        order(number)
        | {"either": {"member0": None, "member1": "x"}, "hash": bytearray(b"abcd"), "at": AT}
        for number in range(20)
    ]
    frame = spark.createDataFrame([(row,) for row in rows], f"value {DDL}").coalesce(1)
    options = {**avro, "topic": topic, "deliveryGuarantee": guarantee}
    if guarantee == "exactly_once":
        options["transactionalIdPrefix"] = topic
    servers = {"kafka.bootstrap.servers": kafka_cluster.bootstrap_servers}
    frame.write.format("pykafka").options(**servers, **options).mode("append").save()
    deserialize = AvroDeserializer(registered)
    context = SerializationContext(topic, MessageField.VALUE)
    found = [deserialize(each.value(), context) for each in consume(topic, 0, 20)]
    assert found == [row | {"either": "x", "hash": b"abcd"} for row in rows]
    assert read(subscribe=topic, **avro).count() == 20


def test_a_schema_is_made_from_the_column_and_registered(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    avro: dict[str, str],
    read: Read,
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    frame = spark.range(10).selectExpr(
        "struct(id, array(struct(id AS part)) AS parts, current_date() AS day) AS value",
        "concat('key ', id) AS key",
    )
    writer = frame.write.format("pykafka").options(**avro).option("key.format", "avro")
    writer = writer.option("kafka.bootstrap.servers", kafka_cluster.bootstrap_servers)
    writer = writer.option("topic", topic).mode("append")
    with pytest.raises(PySparkException, match=r"version latest: .* responded with 404"):
        writer.save()
    writer.option("auto.register.schemas", "true").save()
    assert registered.get_latest_version(f"{topic}-key").schema.schema_str == '"string"'
    found = read(subscribe=topic, **avro, **{"key.format": "avro"})
    assert found.select("value", "key").exceptAll(frame.select("value", "key")).count() == 0
    assert found.count() == 10
    other = frame.selectExpr("struct('text' AS id) AS value").write.format("pykafka")
    other = other.options(**avro, topic=topic).mode("append")
    other = other.option("kafka.bootstrap.servers", kafka_cluster.bootstrap_servers)
    with pytest.raises(PySparkException, match="Column 'value' cannot be written with version 1"):
        other.save()


def test_fault_61_broken_payloads_by_mode(
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    avro: dict[str, str],
    read: Read,
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    good = framed(registered, topic, ORDER, [order(1), order(2)])
    cut, unknown = good[0][:-1], b"\x00\x00\x0f\xff\xff" + good[0][5:]
    produce(kafka_cluster.bootstrap_servers, topic, [good[0], cut, unknown, b"text", good[1]])
    with pytest.raises(PySparkException) as caught:
        read(subscribe=topic, **avro).collect()
    assert f"{topic}-0 at offset 1: the value (schema id " in str(caught.value)
    assert "field either: " in str(caught.value)
    assert "Traceback" not in str(caught.value)
    permissive = read(subscribe=topic, **avro, mode="PERMISSIVE").orderBy("offset").collect()
    assert [row["value"] is None for row in permissive] == [False, True, True, True, False]
    assert [row["_raw"] for row in permissive] == [None, cut, unknown, b"text", None]
    assert "schema id 1048575: " in permissive[2]["_error"]
    kept = read(subscribe=topic, **avro, mode="DROPMALFORMED").orderBy("offset").collect()
    assert [row["offset"] for row in kept] == [0, 4]


@pytest.mark.usefixtures("aws")
@pytest.mark.slow
def test_payloads_with_frames_of_aws_glue(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic()
    fields = [{"name": "id", "type": "long"}]
    text = json.dumps({"type": "record", "name": "Order", "fields": fields})
    with registry(glue({topic: [text]})) as fake:
        first = version_id(topic, 1)
        packed = framed_as_by_glue(b"\x0c", first, packed=True)
        payloads = [framed_as_by_glue(b"\x0a", first), packed, packed[:-1], None]
        produce(kafka_cluster.bootstrap_servers, topic, payloads)
        # Spark starts processes of its own, which have the environment of its JVM.
        servers = kafka_cluster.bootstrap_servers
        rows = run_module(tmp_path, "tests.jobs.read_glue", servers, topic, fake.url)
    assert rows == [
        *([5, None], [6, None]),
        [None, f"the value: (schema version {first}) its zlib data is cut short"],
        [None, None],
    ]
