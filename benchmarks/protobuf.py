"""Payloads of Protobuf, decoded alone: beside protobuf's own classes in a loop into Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from google.protobuf.message_factory import GetMessageClass

from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.decoder import ProtobufPayloadDecoder, message_reader
from kafka_formats.protobuf.descriptors import files_of, message_of, name_in
from kafka_formats.protobuf.types import message_type

Json = dict[str, Any]

_FLAT = """int64 id{0} = {1}1; string customer{0} = {1}2; double amount{0} = {1}3;
int32 count{0} = {1}4; bool paid{0} = {1}5; optional string note{0} = {1}6;
Country country{0} = {1}7; int64 at{0} = {1}8; float price{0} = {1}9; string ref{0} = {1}10;"""
_COUNTRY = "enum Country { DE = 0; FR = 1; US = 2; }"
_NESTED = """message Order { int64 id = 1; Customer customer = 2; repeated Line lines = 3; }
message Customer { string name = 1; string email = 2; }
message Line { string sku = 1; int32 count = 2; double price = 3; }"""


def _message(fields: str) -> str:
    return f"message Order {{ {fields} {_COUNTRY} }}"


# The shapes of Avro, with the same rows.
TEXTS = {
    "10 fields, 100 B": _message(_FLAT.format("", "")),
    "10 fields, 1 kB": _message(_FLAT.format("", "")),
    "nested": _NESTED,
    "30 fields": _message(" ".join(_FLAT.format(i, i + 1) for i in range(3))),
}


class Codec:
    """The payloads of a shape, and two ways to decode them."""

    def __init__(self, shape: str, rows: list[Json]) -> None:
        schema = SchemaText(f'syntax = "proto3"; {TEXTS[shape]}')
        files, name = files_of(schema), name_in(schema)
        message = message_of(files, name)
        self._class: Any = GetMessageClass(message)
        self._type = message_type(message)
        self._decoder = ProtobufPayloadDecoder(message_reader(files, name, self._type), None)
        self._listed = [self._class(**row).SerializeToString() for row in rows]
        self.payloads = pa.array(self._listed, pa.binary())

    def decode(self) -> pa.Array:
        """As pykafka does."""
        return self._decoder.decode(self.payloads, 0).values

    def decode_in_a_loop(self) -> pa.Array:
        """One message after the other, with protobuf's own classes."""
        return pa.array([_row(self._class.FromString(each)) for each in self._listed], self._type)


def _row(message: Any) -> Json:
    return {field.name: _value(message, field) for field in message.DESCRIPTOR.fields}


def _value(message: Any, field: Any) -> Any:
    value = getattr(message, field.name)
    if field.is_repeated:
        return [_row(each) for each in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    if field.message_type is not None:
        return _row(value)
    if field.has_presence:
        return value
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name if value else None
    return value or None
