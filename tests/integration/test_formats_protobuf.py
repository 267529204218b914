"""Rows of Protobuf through Spark, a real registry, and Confluent's serializers as a witness."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from kafka_formats.payload.schema_text import SchemaText
from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from tests.formats.protobuf.messages import descriptor_set, message_class
from tests.integration.conftest import Consume, MakeTopic, Read
from tests.witness import produce

pytestmark = [pytest.mark.integration, pytest.mark.spark]

LINE = 'syntax = "proto3"; package shop; message Line { string sku = 1; int32 count = 2; }'
ORDER = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "shop/line.proto";

message Order {
  int64 id = 1;
  optional string customer = 2;
  double amount = 3;
  State state = 4;
  google.protobuf.Timestamp at = 5;
  google.protobuf.Duration took = 6;
  repeated Line lines = 7;
  map<string, double> tags = 8;
  bytes hash = 9;
  oneof either {
    int32 number = 10;
    string text = 11;
  }
  uint32 unsigned = 12;
  google.protobuf.Int32Value wrapped = 13;
  enum State {
    NEW = 0;
    PAID = 1;
  }
  message Note { string text = 1; }
}
message Other { int64 id = 1; }
"""
# Confluent's serializer registers descriptors, which this registry takes without references only.
ALONE = ORDER.replace('import "shop/line.proto";', "") + LINE.split(";", 2)[2]
NEWER = ALONE.replace("bytes hash = 9;", "bytes hash = 9; string note = 20;")
DDL = (
    "struct<id:bigint,customer:string,amount:double,state:string,at:timestamp,"
    "took:interval day to second,lines:array<struct<sku:string,count:int>>,"
    "tags:map<string,double>,hash:binary,number:int,text:string,unsigned:int,"
    "wrapped:struct<value:int>>"
)
AT = datetime(2026, 11, 23, 12, 30, 0, 123_456, tzinfo=timezone.utc)
DEPENDENCIES = (("shop/line.proto", LINE),)


def order(number: int) -> dict[str, Any]:
    """An order as Spark shows it: zeros are null, where the message cannot tell."""
    return {
        "id": number or None,
        "customer": None if number % 3 == 0 else f"customer {number}",
        "amount": number / 4 or None,
        "state": "PAID" if number % 2 else None,
        "at": AT,
        "took": timedelta(seconds=-number, microseconds=500),
        "lines": [{"sku": f"sku {i}", "count": i + 1} for i in range(number % 4)],
        "tags": {"a": 0.5, "b": float(number)},
        "hash": number.to_bytes(4, "big"),
        "number": number if number % 2 else None,
        "text": None if number % 2 else f"number {number}",
        "unsigned": -1,
        "wrapped": {"value": 7},
    }


def message(text: str, number: int) -> Any:
    dependencies = DEPENDENCIES if "shop/line.proto" in text else ()
    found: Any = message_class(SchemaText(text, dependencies), "shop.Order")()
    given = order(number) | {"unsigned": 2**32 - 1}
    for name in ("id", "customer", "amount", "hash", "number", "text", "unsigned"):
        if given[name] is not None:
            setattr(found, name, given[name])
    found.state = number % 2
    found.at.FromDatetime(AT)
    found.took.FromTimedelta(given["took"])
    for line in given["lines"]:
        found.lines.add(**line)
    found.tags.update(given["tags"])
    found.wrapped.value = 7
    return found


def shown(row: Row) -> dict[str, Any]:
    found = row.asDict(recursive=True)
    # PySpark shows timestamps without their time zone, in that of the machine.
    found["at"] = found["at"].astimezone(timezone.utc)
    found["hash"] = bytes(found["hash"])
    return found


@pytest.fixture
def protobuf(schema_registry: SchemaRegistry) -> dict[str, str]:
    return {"value.format": "protobuf", "schema.registry.url": schema_registry.url}


def register(client: SchemaRegistryClient, topic: str, text: str) -> int:
    """Register `.proto` text, as Java's clients do."""
    client.register_schema("shop/line.proto", Schema(LINE, "PROTOBUF"))
    references = [SchemaReference("shop/line.proto", "shop/line.proto", 1)]
    return client.register_schema(f"{topic}-value", Schema(text, "PROTOBUF", references))


def serialized(client: SchemaRegistryClient, topic: str, messages: Iterable[Any]) -> list[bytes]:
    """Messages as Confluent's serializer writes them; it registers a descriptor in Base64."""
    listed = list(messages)
    serialize = ProtobufSerializer(type(listed[0]), client, {"use.deprecated.format": False})
    context = SerializationContext(topic, MessageField.VALUE)
    return [serialize(each, context) for each in listed]


def framed(
    client: SchemaRegistryClient, topic: str, text: str, messages: Iterable[Any]
) -> list[bytes]:
    """Messages of a new version of `.proto` text, framed as Confluent's clients in Java do.

    This registry cannot compare versions in Base64, and the client in Python has no others.
    """
    schema_id = client.register_schema(f"{topic}-value", Schema(text, "PROTOBUF"))
    frame = b"\0" + schema_id.to_bytes(4, "big") + b"\0"
    return [frame + each.SerializeToString() for each in messages]


def test_reads_what_confluents_serializer_wrote(
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    protobuf: dict[str, str],
    read: Read,
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    orders = [message(ALONE, number) for number in range(30)]
    produce(kafka_cluster.bootstrap_servers, topic, [*serialized(registered, topic, orders), None])
    found = read(subscribe=topic, **protobuf)
    assert found.schema["value"].dataType.simpleString() == DDL
    rows = found.orderBy("offset").collect()
    assert [shown(row["value"]) for row in rows[:-1]] == [order(number) for number in range(30)]
    assert rows[-1]["value"] is None


def test_reads_older_and_newer_versions(
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    protobuf: dict[str, str],
    read: Read,
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    orders = [message(ALONE, number) for number in range(30)]
    produce(kafka_cluster.bootstrap_servers, topic, framed(registered, topic, ALONE, orders))
    before = read(subscribe=topic, **protobuf)
    newer = []
    for number in range(30, 40):
        newer.append(message(NEWER, number))
        newer[-1].note = f"note {number}"
    produce(kafka_cluster.bootstrap_servers, topic, framed(registered, topic, NEWER, newer))
    produce(kafka_cluster.bootstrap_servers, topic, [None])
    rows = before.orderBy("offset").collect()
    assert [shown(row["value"]) for row in rows[:-1]] == [order(number) for number in range(40)]
    assert rows[-1]["value"] is None
    after = read(subscribe=topic, **protobuf).where("value is not null").orderBy("offset")
    notes = [row["note"] for row in after.select("value.note").collect()]
    assert notes == [None] * 30 + [f"note {number}" for number in range(30, 40)]
    part = read(
        "value struct<lines: array<struct<sku: string>>>, offset long", subscribe=topic, **protobuf
    )
    assert part.where("offset = 3").collect()[0]["value"].asDict(recursive=True) == {
        "lines": [{"sku": "sku 0"}, {"sku": "sku 1"}, {"sku": "sku 2"}]
    }


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
def test_confluents_deserializer_reads_what_is_written(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    protobuf: dict[str, str],
    consume: Consume,
    read: Read,
    make_topic: MakeTopic,
    guarantee: str,
) -> None:
    topic = make_topic()
    schema_id = register(registered, topic, ORDER)
    rows = [order(number) for number in range(20)]
    frame = spark.createDataFrame([(row,) for row in rows], f"value {DDL}").coalesce(1)
    options = {**protobuf, "topic": topic, "deliveryGuarantee": guarantee}
    if guarantee == "exactly_once":
        options["transactionalIdPrefix"] = topic
    servers = {"kafka.bootstrap.servers": kafka_cluster.bootstrap_servers}
    frame.write.format("pykafka").options(**servers, **options).mode("append").save()
    written = [each.value() for each in consume(topic, 0, 20)]
    assert {each[:6] for each in written} == {b"\x00" + schema_id.to_bytes(4, "big") + b"\x00"}
    parsed = message_class(SchemaText(ORDER, DEPENDENCIES), "shop.Order")
    deserialize = ProtobufDeserializer(parsed, {"use.deprecated.format": False})
    context = SerializationContext(topic, MessageField.VALUE)
    assert [deserialize(each, context) for each in written] == [
        message(ORDER, number) for number in range(20)
    ]
    found = read(subscribe=topic, **protobuf).orderBy("offset").collect()
    assert [shown(row["value"]) for row in found] == rows


def test_fault_64_broken_payloads_of_protobuf(
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    protobuf: dict[str, str],
    read: Read,
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    good = serialized(registered, topic, [message(ALONE, 1), message(ALONE, 2)])
    cut, deep = good[0][:-1], good[0][:6] + b"\xa3\x06" * 400_000
    produce(kafka_cluster.bootstrap_servers, topic, [good[0], cut, deep, good[0][:5], good[1]])
    with pytest.raises(PySparkException) as caught:
        read(subscribe=topic, **protobuf).collect()
    assert f"{topic}-0 at offset 1: the value (schema id " in str(caught.value)
    assert "Traceback" not in str(caught.value)
    permissive = read(subscribe=topic, **protobuf, mode="PERMISSIVE").orderBy("offset").collect()
    assert [row["value"] is None for row in permissive] == [False, True, True, True, False]
    assert "it ends within the message index" in permissive[3]["_error"]
    kept = read(subscribe=topic, **protobuf, mode="DROPMALFORMED").orderBy("offset").collect()
    assert [row["offset"] for row in kept] == [0, 4]


@pytest.mark.slow
def test_a_descriptor_set_of_protoc_written_and_read(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    consume: Consume,
    read: Read,
    make_topic: MakeTopic,
    tmp_path: Any,
) -> None:
    topic = make_topic()
    files = {"shop/line.proto": LINE, "order.proto": ORDER, "last.proto": "message Last {}"}
    given = {
        "value.format": "protobuf",
        "value.protobuf.descriptor": str(descriptor_set(tmp_path, files, *files)),
        "value.protobuf.message": "shop.Order",
    }
    rows = [order(number) for number in range(5)]
    frame = spark.createDataFrame([(row,) for row in rows], f"value {DDL}").coalesce(1)
    servers = {"kafka.bootstrap.servers": kafka_cluster.bootstrap_servers}
    frame.write.format("pykafka").options(**servers, **given, topic=topic).mode("append").save()
    parsed = message_class(SchemaText(ORDER, DEPENDENCIES), "shop.Order")
    written = [parsed.FromString(each.value()) for each in consume(topic, 0, 5)]
    assert written == [message(ORDER, number) for number in range(5)]
    found = read(subscribe=topic, **given).orderBy("offset").collect()
    assert [shown(row["value"]) for row in found] == rows
    with pytest.raises(PySparkException, match=r"no message has the name 'shop\.Gone'; there are "):
        read(subscribe=topic, **{**given, "value.protobuf.message": "shop.Gone"}).schema  # noqa: B018
