"""Protobuf for the suite: schemas of columns, and protobuf's own runtime."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import pyarrow as pa
from google.protobuf.json_format import ParseDict

from kafka_formats.payload.schema_text import SchemaText
from tests.formats.protobuf.messages import message_class
from tests.formats.suite.form import NAME, Form, Row
from tests.formats.suite.of_json import plain

_NAMES = {
    pa.bool_(): "bool",
    pa.int32(): "int32",
    pa.int64(): "int64",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.timestamp("us", tz="UTC"): "google.protobuf.Timestamp",
}


def _number(name: str) -> int:
    """The number of a field: the same in each version of a schema."""
    return zlib.crc32(name.encode()) % 15_000 + 1


def _messages(columns: pa.StructType, name: str) -> Iterator[str]:
    """A message, and those of its fields, one beside the other: protoc nests few."""
    fields = " ".join(_field(each, f"{name}_{each.name}") for each in columns)
    yield f"message {name} {{ {fields} }}"
    for each in columns:
        to = each.type
        inner = getattr(to, "value_type", getattr(to, "item_type", to))
        if pa.types.is_struct(inner):
            yield from _messages(inner, f"{name}_{each.name}")


def _field(field: pa.Field, message: str) -> str:
    to, label = field.type, "optional " if field.nullable else ""
    if pa.types.is_list(to):
        kind, label = _type(to.value_type, message), "repeated "
    elif pa.types.is_map(to):
        kind, label = f"map<string, {_type(to.item_type, message)}>", ""
    else:
        kind = _type(to, message)
    return f"{label}{kind} {field.name} = {_number(field.name)};"


def _type(to: pa.DataType, message: str) -> str:
    return message if pa.types.is_struct(to) else _NAMES[to]


def _schema(columns: pa.StructType, name: str = NAME) -> str:
    imported = 'import "google/protobuf/timestamp.proto";'
    return f'syntax = "proto3"; {imported} {" ".join(_messages(columns, name))}'


@cache
def _class(text: str) -> Any:
    return message_class(SchemaText(text), NAME)


def _encode(columns: pa.StructType, row: Row) -> bytes:
    message = ParseDict(plain(columns, row), _class(_schema(columns))())
    payload: bytes = message.SerializeToString()
    return payload


def _parse(columns: pa.StructType, payload: bytes) -> Any:
    return _class(_schema(columns)).FromString(payload)


def _read_as(to: pa.DataType) -> pa.DataType:
    """Only items of lists and values of maps are never null."""
    if pa.types.is_struct(to):
        return pa.struct([pa.field(each.name, _read_as(each.type)) for each in to])
    if pa.types.is_list(to):
        return pa.list_(pa.field("element", _read_as(to.value_type), nullable=False))
    if pa.types.is_map(to):
        return pa.map_(to.key_type, pa.field("value", _read_as(to.item_type), nullable=False))
    return to


_FIELDS = f"int64 id = {_number('id')}; {NAME} next = {_number('next')};"
_TREE = f'syntax = "proto3"; message {NAME} {{ {_FIELDS} }}'
PROTOBUF = Form(
    "protobuf",
    "PROTOBUF",
    _schema,
    _encode,
    _parse,
    read_as=_read_as,
    types=frozenset({*("boolean", "int", "bigint", "float", "double", "string", "binary")})
    | {"timestamp"},
    tree=_TREE,
    cut="it is not a Order",
    not_text="it is not a Order",
    null_item="tags: an item is null",
    suffix=b"\0",
    needs_written_schema=True,
    derived=None,
    has_null_items=False,
    has_lists_in_lists=False,
)
