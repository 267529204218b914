"""Rows of Protobuf through Spark, a real registry, and Confluent's serializers as a witness."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import Row, SparkSession

from kafka_formats.payload.schema_text import SchemaText
from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from tests.formats.protobuf.messages import message_class
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
DDL = (
    "struct<id:bigint,customer:string,amount:double,state:string,at:timestamp,"
    "took:interval day to second,lines:array<struct<sku:string,count:int>>,"
    "tags:map<string,double>,hash:binary,number:int,text:string,unsigned:int,"
    "wrapped:struct<value:int>>"
)
AT = datetime(2026, 11, 23, 12, 30, 0, 123_456, tzinfo=timezone.utc)
DEPENDENCIES = (("shop/line.proto", LINE),)


def order(number: int) -> dict[str, Any]:
    """An order as the columns have it: what a payload lacks is its default, or null."""
    return {
        "id": number,
        "customer": None if number % 3 == 0 else f"customer {number}",
        "amount": number / 4,
        "state": "PAID" if number % 2 else "NEW",
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
