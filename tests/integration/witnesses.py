"""Orders in each format, as Confluent's serializers write them and its deserializers read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Final

from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kafka_formats.payload.schema_text import SchemaText
from tests.formats.protobuf.messages import message_class

Row = dict[str, Any]
Payloads = Sequence[bytes]


@dataclass(frozen=True)
class Witness:
    """A format, with orders by their numbers.

    Attributes:
        format: The option `value.format`.
        ddl: The type of the column.
        order: An order as Spark shows it.
        register: Registers the schema to write with, in the subject of a topic; returns its id.
        serialize: Orders as the serializer writes them to a topic; it registers the schema.
        deserialize: What the deserializer reads of payloads of a topic.
        deserialized: An order as the deserializer has it.
    """

    format: str
    ddl: str
    order: Callable[[int], Row]
    register: Callable[[SchemaRegistryClient, str], int]
    serialize: Callable[[SchemaRegistryClient, str, Sequence[int]], list[bytes]]
    deserialize: Callable[[SchemaRegistryClient, str, Payloads], list[Any]]
    deserialized: Callable[[int], Any]

    def __str__(self) -> str:
        return self.format


def _value_of(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def of_customer(number: int) -> str | None:
    return None if number % 3 == 0 else f"customer {number}"


# --- Avro

_LINE: Final = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": "sku", "type": "string"}, {"name": "count", "type": "int"}],
}
_FIELDS: Final[list[dict[str, Any]]] = [
    {"name": "id", "type": "long"},
    {"name": "customer", "type": ["null", "string"], "default": None},
    {
        "name": "amount",
        "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    },
    {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "lines", "type": {"type": "array", "items": _LINE}},
    {"name": "tags", "type": {"type": "map", "values": "double"}},
    {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
    {"name": "either", "type": ["int", "string"]},
]
_AVRO: Final = {"type": "record", "name": "Order", "namespace": "shop", "fields": _FIELDS}
_NOTE: Final = {"name": "note", "type": "string", "default": "none"}


def _avro_order(number: int) -> Row:
    is_odd = number % 2 == 1
    return {
        "id": number,
        "customer": of_customer(number),
        "amount": Decimal(number) / 100,
        "state": "PAID" if is_odd else "NEW",
        "day": date(2026, 11, 23),
        "at": datetime(2026, 11, 23, 12, 30, 0, 123_000, tzinfo=timezone.utc),
        "lines": [{"sku": f"sku {i}", "count": i} for i in range(number % 4)],
        "tags": {"a": 0.5, "b": float(number)},
        "hash": number.to_bytes(4, "big"),
        "either": {
            "member0": number if is_odd else None,
            "member1": None if is_odd else f"number {number}",
        },
    }


def _avro_value(number: int) -> Row:
    order = _avro_order(number)
    (member,) = (each for each in order["either"].values() if each is not None)
    return order | {"either": member}


def framed(
    client: SchemaRegistryClient, topic: str, schema: Row, values: Iterable[Any]
) -> list[bytes]:
    """Values of Avro as the serializer writes them."""
    serialize = AvroSerializer(client, json.dumps(schema))
    return [serialize(value, _value_of(topic)) for value in values]


def newer_orders(client: SchemaRegistryClient, topic: str, numbers: Iterable[int]) -> list[bytes]:
    """Orders of Avro with a note, of a newer schema."""
    values = (_avro_value(each) | {"note": f"note {each}"} for each in numbers)
    return framed(client, topic, _AVRO | {"fields": [*_FIELDS, _NOTE]}, values)


AVRO: Final = Witness(
    "avro",
    "struct<id:bigint,customer:string,amount:decimal(9,2),state:string,day:date,at:timestamp,"
    "lines:array<struct<sku:string,count:int>>,tags:map<string,double>,hash:binary,"
    "either:struct<member0:int,member1:string>>",
    _avro_order,
    lambda client, topic: client.register_schema(
        f"{topic}-value", Schema(json.dumps(_AVRO), "AVRO")
    ),
    lambda client, topic, numbers: framed(client, topic, _AVRO, map(_avro_value, numbers)),
    lambda client, topic, payloads: [
        AvroDeserializer(client)(each, _value_of(topic)) for each in payloads
    ],
    _avro_value,
)

# --- JSON

_JSON: Final = json.dumps(
    {
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
)


def _json_order(number: int) -> Row:
    return {
        "id": number,
        "customer": of_customer(number),
        "amount": number / 2,
        "tags": {"a": "b"},
        "lines": [{"sku": f"sku {i}"} for i in range(number % 4)],
    }


def _json_payloads(client: SchemaRegistryClient, topic: str, numbers: Sequence[int]) -> list[bytes]:
    serialize = JSONSerializer(_JSON, client, lambda value, _: value)
    return [serialize(_json_order(each), _value_of(topic)) for each in numbers]


JSON: Final = Witness(
    "json",
    "struct<id:bigint,customer:string,amount:double,tags:map<string,string>,"
    "lines:array<struct<sku:string>>>",
    _json_order,
    lambda client, topic: client.register_schema(f"{topic}-value", Schema(_JSON, "JSON")),
    _json_payloads,
    lambda client, topic, payloads: [
        JSONDeserializer(_JSON, schema_registry_client=client)(each, _value_of(topic))
        for each in payloads
    ],
    # Nulls are left out.
    lambda number: {name: each for name, each in _json_order(number).items() if each is not None},
)

# --- Protobuf

_LINE_PROTO: Final = (
    'syntax = "proto3"; package shop; message Line { string sku = 1; int32 count = 2; }'
)
_PROTO: Final = """
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
_ALONE: Final = _PROTO.replace('import "shop/line.proto";', "") + _LINE_PROTO.split(";", 2)[2]
_AT: Final = datetime(2026, 11, 23, 12, 30, 0, 123_456, tzinfo=timezone.utc)
_DEPENDENCIES: Final = (("shop/line.proto", _LINE_PROTO),)


def _protobuf_order(number: int) -> Row:
    """What a payload lacks is its default, or null."""
    return {
        "id": number,
        "customer": of_customer(number),
        "amount": number / 4,
        "state": "PAID" if number % 2 else "NEW",
        "at": _AT,
        "took": timedelta(seconds=-number, microseconds=500),
        "lines": [{"sku": f"sku {i}", "count": i + 1} for i in range(number % 4)],
        "tags": {"a": 0.5, "b": float(number)},
        "hash": number.to_bytes(4, "big"),
        "number": number if number % 2 else None,
        "text": None if number % 2 else f"number {number}",
        "unsigned": -1,
        "wrapped": {"value": 7},
    }


def _message(text: str, number: int) -> Any:
    dependencies = _DEPENDENCIES if text is _PROTO else ()
    given = _protobuf_order(number) | {"unsigned": 2**32 - 1}
    is_given = {name: each for name, each in given.items() if each is not None}
    return message_class(SchemaText(text, dependencies), "shop.Order")(**is_given)


def _register_proto(client: SchemaRegistryClient, topic: str) -> int:
    """Register `.proto` text, as Java's clients do."""
    client.register_schema("shop/line.proto", Schema(_LINE_PROTO, "PROTOBUF"))
    references = [SchemaReference("shop/line.proto", "shop/line.proto", 1)]
    return client.register_schema(f"{topic}-value", Schema(_PROTO, "PROTOBUF", references))


def _protobuf_payloads(
    client: SchemaRegistryClient, topic: str, numbers: Sequence[int]
) -> list[bytes]:
    """The serializer registers a descriptor in Base64."""
    messages = [_message(_ALONE, each) for each in numbers]
    serialize = ProtobufSerializer(type(messages[0]), client, {"use.deprecated.format": False})
    return [serialize(each, _value_of(topic)) for each in messages]


def _protobuf_values(_client: SchemaRegistryClient, topic: str, payloads: Payloads) -> list[Any]:
    parsed = message_class(SchemaText(_PROTO, _DEPENDENCIES), "shop.Order")
    deserialize = ProtobufDeserializer(parsed, {"use.deprecated.format": False})
    return [deserialize(each, _value_of(topic)) for each in payloads]


PROTOBUF: Final = Witness(
    "protobuf",
    "struct<id:bigint,customer:string,amount:double,state:string,at:timestamp,"
    "took:interval day to second,lines:array<struct<sku:string,count:int>>,"
    "tags:map<string,double>,hash:binary,number:int,text:string,unsigned:int,"
    "wrapped:struct<value:int>>",
    _protobuf_order,
    _register_proto,
    _protobuf_payloads,
    _protobuf_values,
    lambda number: _message(_PROTO, number),
)
WITNESSES: Final = (AVRO, JSON, PROTOBUF)
