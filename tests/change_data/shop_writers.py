"""The twenty topics of `make demo-tables`, and the producers that write to them.

The topics of the kind `changes` are Debezium's: `shop_database.py` has their database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from confluent_kafka import Message, Producer
from confluent_kafka.schema_registry import (
    Schema,
    SchemaRegistryClient,
    record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kafka_formats.payload.schema_text import SchemaText
from kafka_protocol.arrow_io.topic import create_topic
from tests.change_data.debezium import topic_of
from tests.formats.protobuf.messages import message_class

Row = dict[str, Any]
Encode = Callable[[str, Row], bytes]
Written = Mapping[tuple[int, int], tuple[str, Row | None]]
"""Partition and offset of each record -> its key and its row."""

NEW_FIELDS: Final = (("note", "string"), ("size", "double"))
ADDED: Final = [{"name": n, "type": ["null", t], "default": None} for n, t in NEW_FIELDS]
AVRO: Final = tuple(
    [{"name": "id", "type": id_type}, {"name": "name", "type": "string"}, *ADDED[:version]]
    for version, id_type in enumerate(("int", "long", "long"))
)
PROTOBUF: Final = (
    "",
    "optional string note = 3;",
    "optional string note = 3; optional double size = 4;",
)
RECORD_TYPES: Final = ("Order", "Payment", "Refund")
DATABASE: Final = ("customers", "products")
"""Tables of the database: one gets a column, the other one has values that changes lack."""


class Kind(NamedTuple):
    """A kind of topics.

    Attributes:
        topics: Their names.
        rows: What records are: `append`, `upsert` or `changes`.
        options: The options of their reads.
        needs_registry: Whether these read schemas from the registry.
    """

    topics: Sequence[str]
    rows: str
    options: Mapping[str, str]
    needs_registry: bool = True


def _numbered(kind: str, count: int) -> list[str]:
    return [f"shop.{kind}.{number}" for number in range(count)]


_AVRO: Final = {"value.format": "avro"}
_SUBJECTS: Final = ",".join(f"shop.{each}" for each in RECORD_TYPES)
KINDS: Final = {
    "avro": Kind(_numbered("avro", 5), "append", _AVRO),
    "protobuf": Kind(_numbered("protobuf", 4), "append", {"value.format": "protobuf"}),
    "json": Kind(
        _numbered("json", 4),
        "append",
        {
            **{"value.format": "json", "value.framing": "none"},
            "value.schema": "id bigint, name string, note string, size double",
        },
        needs_registry=False,
    ),
    "cache": Kind(_numbered("cache", 4), "upsert", {**_AVRO, "key.format": "raw"}),
    "types": Kind(_numbered("types", 1), "append", {**_AVRO, "value.subjects": _SUBJECTS}),
    "changes": Kind([*map(topic_of, DATABASE)], "changes", {**_AVRO, "key.format": "avro"}),
}
TOPICS: Final = {topic: kind for kind, each in KINDS.items() for topic in each.topics}
LATE: Final = tuple(KINDS[kind].topics[-1] for kind in ("avro", "protobuf", "cache"))
"""Topics that appear in the middle."""
FIRST: Final = tuple(
    topic for topic, kind in TOPICS.items() if kind != "changes" and topic not in LATE
)


def arguments_of(topics: Mapping[str, str], registry_url: str) -> dict[str, Any]:
    """The file of topics for the example: for each one its rows and its options."""
    registry = {"schema.registry.url": registry_url}
    kinds = {topic: KINDS[kind] for topic, kind in topics.items()}
    return {
        topic: {
            "rows": kind.rows,
            "options": {**(registry if kind.needs_registry else {}), **kind.options},
        }
        for topic, kind in kinds.items()
    }


class Shop:
    """Writes to the topics, and knows what it has written."""

    def __init__(self, servers: str, client: SchemaRegistryClient) -> None:
        self.servers = servers
        self._client = client
        # It outlives the brokers, and would print that they are gone.
        self._producer = Producer({"bootstrap.servers": servers, "log_level": 2})
        self._version = 0
        self.written: dict[str, dict[tuple[int, int], tuple[str, Row | None]]] = {}
        self._encoders: dict[tuple[str, int], Encode] = {}
        self._next = 0
        self._rounds = 0

    def create(self, topics: Iterable[str]) -> None:
        """Create topics."""
        for topic in topics:
            compact = {"cleanup.policy": "compact"} if TOPICS[topic] == "cache" else {}
            options = {"bootstrap.servers": self.servers}
            create_topic(topic, options, partitions=2, configs=compact)
            self.written[topic] = {}

    def evolve(self) -> None:
        """Write with new fields and wider types from now on."""
        self._version += 1

    def write(self) -> None:
        """Write a record to each topic."""
        self._rounds += 1
        for topic in self.written:
            self._next += 1
            number = self._next % 50 if TOPICS[topic] == "cache" else self._next
            row: Row | None = {"id": number, "name": f"name {self._next}"}
            if self._version > 0 and row:
                row["note"] = f"note {self._next}"
            if self._version > 1 and row:
                row["size"] = self._next / 4
            if TOPICS[topic] == "cache" and self._next % 7 == 0:
                row = None
            self._send(topic, str(number), row)
        self._producer.poll(0)

    def flush(self) -> None:
        """Return when all records are acknowledged."""
        assert self._producer.flush(60) == 0

    def _send(self, topic: str, key: str, row: Row | None) -> None:
        if TOPICS[topic] == "types":
            row = {"id": self._next, "name": RECORD_TYPES[self._rounds % len(RECORD_TYPES)]}

        def delivered(error: object, message: Message) -> None:
            assert error is None, error
            partition, offset = message.partition(), message.offset()
            assert partition is not None and offset is not None
            self.written[topic][partition, offset] = key, row

        payload = None if row is None else self._encoder(topic, row)(topic, row)
        self._producer.produce(topic, payload, key, on_delivery=delivered)

    def _encoder(self, topic: str, row: Row) -> Encode:
        kind = TOPICS[topic]
        name = row["name"] if kind == "types" else kind
        if (name, self._version) not in self._encoders:
            self._encoders[name, self._version] = self._new_encoder(kind, name)
        return self._encoders[name, self._version]

    def _new_encoder(self, kind: str, name: str) -> Encode:
        if kind == "json":
            return lambda _, row: json.dumps(row).encode()
        if kind == "protobuf":
            parts = f"int64 id = 1; string name = 2; {PROTOBUF[self._version]}"
            text = f'syntax = "proto3"; package shop; message Row {{ {parts} }}'
            return self._protobuf(text)
        fields = AVRO[0] if kind == "types" else AVRO[self._version]
        schema = {"type": "record", "name": f"shop.{name}", "fields": fields}
        conf = {"subject.name.strategy": record_subject_name_strategy} if kind == "types" else {}
        avro = AvroSerializer(self._client, json.dumps(schema), conf=conf)
        return lambda topic, row: _bytes(avro(row, _context(topic)))

    def _protobuf(self, text: str) -> Encode:
        """As Confluent's serializer, which registers a form that Apicurio does not compare."""
        message = message_class(SchemaText(text), "shop.Row")

        def encode(topic: str, row: Row) -> bytes:
            id_ = self._client.register_schema(f"{topic}-value", Schema(text, "PROTOBUF"))
            value: bytes = message(**row).SerializeToString()
            return b"\0" + id_.to_bytes(4, "big") + b"\0" + value

        return encode


def _context(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def _bytes(payload: bytes | None) -> bytes:
    assert payload is not None
    return payload
