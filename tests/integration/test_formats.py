"""Rows of each format through Spark, a real registry, and Confluent's serializers as witnesses."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from tests.fakes.glue import glue, version_id
from tests.fakes.registry import registry
from tests.formats.schema_ids.test_glue import framed as framed_as_by_glue
from tests.integration.conftest import Consume, MakeTopic, Read
from tests.integration.witnesses import AVRO, JSON, PROTOBUF, WITNESSES, Witness, newer_orders
from tests.own_process import run_module
from tests.witness import produce

pytestmark = [pytest.mark.integration, pytest.mark.spark]

LINES = "value struct<lines: array<struct<sku: string>>>, offset long"


def shown(row: Row) -> dict[str, Any]:
    """A row of Spark's as the witness gives it."""
    found = row.asDict(recursive=True)
    for name, value in found.items():
        if isinstance(value, datetime):
            # PySpark shows timestamps without their time zone, in that of the machine.
            found[name] = value.astimezone(timezone.utc)
        elif isinstance(value, bytearray):
            found[name] = bytes(value)
    return found


@pytest.fixture
def url(schema_registry: SchemaRegistry) -> dict[str, str]:
    return {"schema.registry.url": schema_registry.url}


@pytest.mark.parametrize("witness", WITNESSES, ids=str)
def test_reads_what_confluents_serializer_wrote(
    witness: Witness,
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    url: dict[str, str],
    read: Read,
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    payloads = witness.serialize(registered, topic, range(50))
    produce(kafka_cluster.bootstrap_servers, topic, [*payloads, None])
    options = {"value.format": witness.format, **url}
    found = read(subscribe=topic, **options)
    assert found.schema["value"].dataType.simpleString() == witness.ddl
    rows = found.orderBy("offset").collect()
    assert [shown(row["value"]) for row in rows[:-1]] == [*map(witness.order, range(50))]
    assert rows[-1]["value"] is None
    part = read(LINES, subscribe=topic, **options).where("offset = 3").collect()
    assert part[0]["value"].asDict(recursive=True) == {
        "lines": [{"sku": "sku 0"}, {"sku": "sku 1"}, {"sku": "sku 2"}]
    }


def test_the_columns_of_a_dataframe_stay(
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    url: dict[str, str],
    read: Read,
    make_topic: MakeTopic,
) -> None:
    """A version that came later is resolved to its own."""
    topic = make_topic()
    options = {"value.format": "avro", **url}
    servers = kafka_cluster.bootstrap_servers
    produce(servers, topic, AVRO.serialize(registered, topic, range(5)))
    before = read(subscribe=topic, **options)
    produce(servers, topic, newer_orders(registered, topic, range(5, 8)))
    rows = before.orderBy("offset").collect()
    assert [shown(row["value"]) for row in rows] == [*map(AVRO.order, range(8))]
    after = read(subscribe=topic, **options).orderBy("offset").select("value.note").collect()
    assert [row["note"] for row in after] == ["none"] * 5 + [f"note {at}" for at in range(5, 8)]


@pytest.mark.parametrize(
    ("witness", "guarantee"),
    [
        pytest.param(AVRO, "at_least_once", marks=pytest.mark.slow),
        (AVRO, "exactly_once"),
        (JSON, "at_least_once"),
        pytest.param(PROTOBUF, "at_least_once", marks=pytest.mark.slow),
        pytest.param(PROTOBUF, "exactly_once", marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_confluents_deserializer_reads_what_is_written(
    witness: Witness,
    guarantee: str,
    spark: SparkSession,
    servers: dict[str, str],
    registered: SchemaRegistryClient,
    url: dict[str, str],
    consume: Consume,
    read: Read,
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    schema_id = witness.register(registered, topic)
    rows = [*map(witness.order, range(20))]
    frame = spark.createDataFrame([(row,) for row in rows], f"value {witness.ddl}").coalesce(1)
    options = {"value.format": witness.format, **url, "deliveryGuarantee": guarantee}
    if guarantee == "exactly_once":
        options["transactionalIdPrefix"] = topic
    frame.write.format("pykafka").options(**servers, **options, topic=topic).mode("append").save()
    written = [each.value() for each in consume(topic, 0, 20)]
    assert {each[:5] for each in written} == {b"\x00" + schema_id.to_bytes(4, "big")}
    found = witness.deserialize(registered, topic, written)
    assert found == [*map(witness.deserialized, range(20))]
    back = read(subscribe=topic, **url, **{"value.format": witness.format}).orderBy("offset")
    assert [shown(row["value"]) for row in back.collect()] == rows


@pytest.mark.parametrize(("format_", "of_key"), [("avro", '"string"'), ("json", None)])
def test_a_schema_is_made_from_the_column_and_registered(
    format_: str,
    of_key: str | None,
    spark: SparkSession,
    servers: dict[str, str],
    registered: SchemaRegistryClient,
    url: dict[str, str],
    read: Read,
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    frame = spark.range(10).selectExpr(
        "struct(id, array(struct(id AS part)) AS parts, double(id) AS half) AS value",
        "concat('key ', id) AS key",
    )
    options = {"value.format": format_, "key.format": format_, **url}
    writer = frame.write.format("pykafka").options(**servers, **options, topic=topic)
    writer = writer.mode("append")
    with pytest.raises(PySparkException, match=r"version latest: .* responded with 404"):
        writer.save()
    writer.option("auto.register.schemas", "true").save()
    key = registered.get_latest_version(f"{topic}-key").schema
    assert key.schema_type == format_.upper()
    assert of_key in {None, key.schema_str}
    found = read(subscribe=topic, **options)
    assert found.select("value", "key").exceptAll(frame.select("value", "key")).count() == 0
    assert found.count() == 10
    other = frame.selectExpr("struct('text' AS id) AS value").write.format("pykafka")
    other = other.options(**servers, **url, **{"value.format": format_}, topic=topic)
    with pytest.raises(PySparkException, match="Column 'value' cannot be written with version 1"):
        other.mode("append").save()


def test_without_any_schema(
    spark: SparkSession, servers: dict[str, str], read: Read, make_topic: MakeTopic
) -> None:
    """The type of the column says how to write, and that of the read how to read."""
    topic = make_topic()
    rows = spark.range(0, 3, 1, 1).selectExpr("struct(id, array(id) AS ids, 'x' AS `a b`) AS value")
    given = {**servers, "value.format": "json"}
    rows.write.format("pykafka").options(**given, topic=topic).mode("append").save()
    assert [json.loads(row["value"]) for row in read(subscribe=topic).collect()] == [
        {"id": number, "ids": [number], "a b": "x"} for number in range(3)
    ]
    reader = spark.read.format("pykafka").options(**given, subscribe=topic)
    with pytest.raises(PySparkException, match=r"set value.schema, or give .schema\('value struct"):
        reader.load()
    back = reader.schema("value struct<ids: array<bigint>, `a b`: string>").load()
    assert [row["value"]["ids"] for row in back.collect()] == [[0], [1], [2]]


def test_fault_61_broken_payloads_by_mode(
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    url: dict[str, str],
    read: Read,
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    avro = {"value.format": "avro", **url}
    good = AVRO.serialize(registered, topic, [1, 2])
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
