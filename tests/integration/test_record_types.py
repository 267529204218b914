"""Several record types in one topic, record by record as Confluent's serializers have them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.json_format import MessageToDict
from pyspark.sql import SparkSession

from kafka_formats.payload.schema_text import SchemaText
from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from tests.formats.protobuf.messages import message_class
from tests.integration.conftest import Consume, MakeTopic, Read
from tests.witness import produce

pytestmark = [pytest.mark.integration, pytest.mark.spark]

Row = dict[str, Any]
# The field of each type beside `id`.
TYPES: Final = {"Order": "customer", "Payment": "card"}
STRATEGIES: Final = {
    "RecordNameStrategy": record_subject_name_strategy,
    "TopicRecordNameStrategy": topic_record_subject_name_strategy,
}


class Codec(NamedTuple):
    """What Confluent's library does with values of one type: (client, options) -> a function."""

    serializer: Callable[[SchemaRegistryClient, Row], Any]
    deserializer: Callable[[SchemaRegistryClient], Any]


def _avro(package: str, name: str) -> Codec:
    fields = [{"name": "id", "type": "long"}, {"name": TYPES[name], "type": "string"}]
    text = json.dumps({"type": "record", "name": f"{package}.{name}", "fields": fields})
    return Codec(
        lambda client, options: AvroSerializer(client, text, conf=options),
        AvroDeserializer,
    )


def _json(package: str, name: str) -> Codec:
    properties = {"id": {"type": "integer"}, TYPES[name]: {"type": "string"}}
    schema = {"title": f"{package}.{name}", "type": "object", "properties": properties}
    text = json.dumps(schema)
    return Codec(
        lambda client, options: JSONSerializer(text, client, lambda value, _: value, options),
        lambda client: JSONDeserializer(text, schema_registry_client=client),
    )


def _protobuf(package: str, name: str) -> Codec:
    text = f'syntax = "proto3"; package {package}; '
    text += f"message {name} {{ int64 id = 1; string {TYPES[name]} = 2; }}"
    message = message_class(SchemaText(text), f"{package}.{name}")
    options = {"use.deprecated.format": False}

    def serializer(client: SchemaRegistryClient, more: Row) -> Any:
        serialize = ProtobufSerializer(message, client, options | more)
        return lambda value, context: serialize(message(**value), context)

    def deserializer(client: SchemaRegistryClient) -> Any:
        read = ProtobufDeserializer(message, options, client)

        def deserialize(payload: bytes, context: SerializationContext) -> Row:
            values: Row = MessageToDict(read(payload, context), preserving_proto_field_name=True)
            return values | {"id": int(values.get("id", 0))}

        return deserialize

    return Codec(serializer, deserializer)


FORMATS: Final = {"avro": _avro, "json": _json, "protobuf": _protobuf}


def row_of(number: int) -> tuple[str, Row]:
    """A type, and a value of it."""
    name = "Payment" if number % 3 else "Order"
    return name, {"id": number, TYPES[name]: f"text {number}"}


@pytest.fixture
def package() -> str:
    """Subjects by the names of records are the same for all topics of a registry."""
    return f"shop{uuid.uuid4().hex[:8]}"


@pytest.mark.parametrize(
    ("format_", "strategy"),
    [
        ("avro", "RecordNameStrategy"),
        ("json", "TopicRecordNameStrategy"),
        ("protobuf", "RecordNameStrategy"),
        pytest.param("avro", "TopicRecordNameStrategy", marks=pytest.mark.slow),
        pytest.param("json", "RecordNameStrategy", marks=pytest.mark.slow),
        pytest.param("protobuf", "TopicRecordNameStrategy", marks=pytest.mark.slow),
    ],
)
def test_each_record_as_confluents_library_has_it(
    format_: str,
    strategy: str,
    package: str,
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    schema_registry: SchemaRegistry,
    read: Read,
    consume: Consume,
    make_topic: MakeTopic,
) -> None:
    topic, back = make_topic(), make_topic()
    codecs = {name: FORMATS[format_](package, name) for name in TYPES}
    options = {"subject.name.strategy": STRATEGIES[strategy]}
    serialize = {name: each.serializer(registered, options) for name, each in codecs.items()}
    numbers = range(30)

    def payloads_of(name: str) -> list[bytes]:
        return [
            serialize[kind](value, SerializationContext(name, MessageField.VALUE))
            for kind, value in map(row_of, numbers)
        ]

    payloads = payloads_of(topic)
    # Also the subjects of the topic that is written to.
    payloads_of(back)
    produce(kafka_cluster.bootstrap_servers, topic, [*payloads, None])
    formats = {
        "value.format": format_,
        "schema.registry.url": schema_registry.url,
        "value.subjects": ",".join(f"{package}.{name}" for name in TYPES),
        "value.subject.name.strategy": strategy,
    }
    frame = read(subscribe=topic, **formats)
    assert frame.schema["value"].dataType.simpleString() == (
        "struct<_type:string,Order:struct<id:bigint,customer:string>,"
        "Payment:struct<id:bigint,card:string>>"
    )
    rows = [row["value"] for row in frame.orderBy("offset").collect()]
    assert rows.pop() is None
    found = [row.asDict(recursive=True) for row in rows]
    expected = [
        {"_type": f"{package}.{kind}"} | dict.fromkeys(TYPES) | {kind: value}
        for kind, value in map(row_of, numbers)
    ]
    assert found == expected
    part = read("value struct<Payment: struct<card: string>>", subscribe=topic, **formats)
    cards = part.where("value.Payment is not null").select("value.Payment.card").collect()
    assert sorted(row[0] for row in cards) == sorted(f"text {n}" for n in numbers if n % 3)

    frame = frame.where("value is not null").orderBy("offset").select("value").coalesce(1)
    to = {"kafka.bootstrap.servers": kafka_cluster.bootstrap_servers, "topic": back}
    frame.write.format("pykafka").options(**to, **formats).mode("append").save()
    written = [each.value() for each in consume(back, 0, len(numbers))]
    context = SerializationContext(back, MessageField.VALUE)
    deserialize = {name: each.deserializer(registered) for name, each in codecs.items()}
    for payload, (kind, value), theirs in zip(
        written, map(row_of, numbers), payloads_of(back), strict=True
    ):
        assert deserialize[kind](payload, context) == value
        assert payload[:5] == theirs[:5]
        assert format_ == "json" or payload == theirs


def test_a_union_that_refers_to_subjects(
    package: str,
    kafka_cluster: KafkaCluster,
    registered: SchemaRegistryClient,
    schema_registry: SchemaRegistry,
    read: Read,
    consume: Consume,
    make_topic: MakeTopic,
) -> None:
    """Confluent's way with one subject of the topic, checked by the registry."""
    topic, back = make_topic(), make_topic()
    names = [f"{package}.{name}" for name in TYPES]
    for name, field in zip(names, TYPES.values(), strict=True):
        fields = [{"name": "id", "type": "long"}, {"name": field, "type": "string"}]
        text = json.dumps({"type": "record", "name": name, "fields": fields})
        registered.register_schema(name, Schema(text, "AVRO"))
    union = Schema(json.dumps(names), "AVRO", [SchemaReference(each, each, 1) for each in names])
    for each in (topic, back):
        registered.register_schema(f"{each}-value", union)
    options = {"auto.register.schemas": False, "use.latest.version": True}

    def payloads_of(name: str) -> Sequence[bytes]:
        context = SerializationContext(name, MessageField.VALUE)
        serialize = AvroSerializer(registered, conf=options)
        rows = map(row_of, range(20))
        return [serialize((f"{package}.{kind}", row), context) for kind, row in rows]

    produce(kafka_cluster.bootstrap_servers, topic, payloads_of(topic))
    formats = {"value.format": "avro", "schema.registry.url": schema_registry.url}
    frame = read(subscribe=topic, **formats, **{"value.subjects": f"{topic}-value"})
    rows = [row["value"].asDict(recursive=True) for row in frame.orderBy("offset").collect()]
    assert [
        {kind: row[kind], "_type": row["_type"]}
        for row, (kind, _) in zip(rows, map(row_of, range(20)), strict=True)
    ] == [{kind: row, "_type": f"{package}.{kind}"} for kind, row in map(row_of, range(20))]
    to = {"kafka.bootstrap.servers": kafka_cluster.bootstrap_servers, "topic": back}
    frame.orderBy("offset").select("value").coalesce(1).write.format("pykafka").options(
        **to, **formats, **{"value.subjects": f"{back}-value"}
    ).mode("append").save()
    assert [each.value() for each in consume(back, 0, 20)] == payloads_of(back)
