"""What protobuf's own runtime reads, as rows: a plain loop over one message after the other.

The classes are made from the schema as it is, unlike those that the decoder uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

from kafka_formats.protobuf.types import is_map, scalar_type, time_type

Row = dict[str, Any]
_UNSIGNED: Mapping[int, int] = {
    FieldDescriptor.CPPTYPE_UINT32: 32,
    FieldDescriptor.CPPTYPE_UINT64: 64,
}


class Broken(Exception):
    """A payload that is not a message, or that no column can show."""


def row_of(parsed: Any, payload: bytes, to: pa.StructType) -> Row:
    """The row of a payload.

    Raises:
        Broken: There is none.
    """
    try:
        message = parsed.FromString(payload)
    except (DecodeError, LookupError, UnicodeDecodeError) as error:
        raise Broken(str(error)) from error
    if not message.IsInitialized():
        raise Broken("it lacks a required field")
    return _row(message, to)


def _row(message: Any, to: pa.StructType) -> Row:
    fields = message.DESCRIPTOR.fields_by_name
    return {each.name: _field(message, fields[each.name], each.type) for each in to}


def _field(message: Any, field: FieldDescriptor, to: pa.DataType) -> Any:
    value = getattr(message, field.name)
    if is_map(field):
        key_field, value_field = (field.message_type.fields_by_name[x] for x in ("key", "value"))
        pairs = [
            (_value(key_field, key, to.key_type), _value(value_field, value[key], to.item_type))
            for key in value
        ]
        return sorted(pairs, key=repr)
    if field.is_repeated:
        return [_value(field, each, to.value_type) for each in value]
    is_shown = not field.has_presence or message.HasField(field.name) or field.has_default_value
    return _value(field, value, to) if is_shown else None


def _value(field: FieldDescriptor, value: Any, to: pa.DataType) -> Any:
    if field.message_type is not None:
        return _micros(value) if time_type(field.message_type) is not None else _row(value, to)
    if field.enum_type is not None:
        symbol = field.enum_type.values_by_number.get(value)
        return symbol.name if symbol else f"UNKNOWN_ENUM_VALUE_{field.enum_type.name}_{value}"
    if field.type == FieldDescriptor.TYPE_STRING and isinstance(value, bytes):
        raise Broken("a text is not UTF-8")
    bits = _UNSIGNED.get(field.cpp_type)
    return value - 2**bits if bits and value >= 2 ** (bits - 1) else value


def _micros(value: Any) -> int:
    micros = value.seconds * 1_000_000 + int(value.nanos / 1_000)
    if not -(2**63) <= micros < 2**63:
        raise Broken("a time is out of range")
    return int(micros)


def comparable(row: Any, to: pa.DataType) -> Any:
    """A row of a column as `row_of` gives it: maps sorted."""
    if row is None:
        return None
    if pa.types.is_struct(to):
        return {each.name: comparable(row[each.name], each.type) for each in to}
    if pa.types.is_map(to):
        return sorted(((key, comparable(each, to.item_type)) for key, each in row), key=repr)
    if pa.types.is_list(to):
        return [comparable(each, to.value_type) for each in row]
    return row


def in_numbers(to: pa.DataType) -> pa.DataType:
    """The type with times as numbers."""
    if pa.types.is_struct(to):
        return pa.struct([each.with_type(in_numbers(each.type)) for each in to])
    if pa.types.is_map(to):
        return pa.map_(to.key_type, to.item_field.with_type(in_numbers(to.item_type)))
    if pa.types.is_list(to):
        return pa.list_(to.value_field.with_type(in_numbers(to.value_type)))
    return pa.int64() if pa.types.is_temporal(to) else to


def type_without_circles(message: Descriptor) -> pa.StructType:
    """The type of a message without the fields by which it contains itself."""
    fields = [_type_of(each, (message.full_name,)) for each in message.fields]
    return pa.struct([each for each in fields if each is not None])


def _type_of(field: FieldDescriptor, path: tuple[str, ...]) -> pa.Field | None:
    if is_map(field):
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        to = _plain(value, path)
        return to and pa.field(field.name, pa.map_(scalar_type(key), to))
    to = _plain(field, path)
    if to is None:
        return None
    return pa.field(field.name, pa.list_(to) if field.is_repeated else to)


def _plain(field: FieldDescriptor, path: tuple[str, ...]) -> pa.DataType | None:
    message = field.message_type
    if message is None:
        return scalar_type(field)
    if (to := time_type(message)) is not None:
        return to
    if message.full_name in path:
        return None
    fields = [_type_of(each, (*path, message.full_name)) for each in message.fields]
    present = [each for each in fields if each is not None]
    return pa.struct(present) if present else None
