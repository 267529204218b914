"""The Arrow types of messages, as in Spark's `from_protobuf` with its default options.

Confluent's decimals are structs, too; a query may want decimals or strings (`decimals`).

Source: Spark's `SchemaConverters` for Protobuf.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor

from kafka_formats.errors import NoFieldsError, SchemaError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

# The most messages within each other that protobuf reads, also in Java.
_MAX_DEPTH: Final = 100
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
INTERVAL: Final = pa.duration("us")
# Spark shows unsigned numbers as signed ones of the same size.
_SCALARS: Final[Mapping[int, pa.DataType]] = {
    FieldDescriptor.CPPTYPE_INT32: pa.int32(),
    FieldDescriptor.CPPTYPE_UINT32: pa.int32(),
    FieldDescriptor.CPPTYPE_INT64: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT64: pa.int64(),
    FieldDescriptor.CPPTYPE_FLOAT: pa.float32(),
    FieldDescriptor.CPPTYPE_DOUBLE: pa.float64(),
    FieldDescriptor.CPPTYPE_BOOL: pa.bool_(),
    FieldDescriptor.CPPTYPE_ENUM: pa.string(),
}
# Messages of seconds and nanos, in any package.
_SECONDS: Final = frozenset({FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64})
_NANOS: Final = frozenset({FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32})
_TIMES: Final[Mapping[str, pa.DataType]] = {"Timestamp": TIMESTAMP, "Duration": INTERVAL}


def message_type(message: Descriptor) -> pa.DataType:
    """The type of a message: a struct of its fields.

    Raises:
        NoFieldsError: It has no fields.
        SchemaError: It contains itself.
    """
    struct = _struct(message, (message.full_name,))
    if struct is None:
        raise NoFieldsError(f"the message {message.full_name} has no fields")
    return struct


def is_map(field: FieldDescriptor) -> bool:
    """Whether a field is a map."""
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def time_type(message: Descriptor) -> pa.DataType | None:
    """The type of a message that Spark shows as a time; None for others."""
    if [each.name for each in message.fields] != ["seconds", "nanos"]:
        return None
    seconds, nanos = message.fields
    is_time = seconds.cpp_type in _SECONDS and nanos.cpp_type in _NANOS
    is_time = is_time and not seconds.is_repeated and not nanos.is_repeated
    return _TIMES.get(message.name) if is_time else None


def scalar_type(field: FieldDescriptor) -> pa.DataType:
    """The type of a field that is not a message."""
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return pa.binary() if field.type == FieldDescriptor.TYPE_BYTES else pa.string()
    return _SCALARS[field.cpp_type]


def _struct(message: Descriptor, path: tuple[str, ...]) -> pa.DataType | None:
    """None for a message without fields: Spark leaves its fields out."""
    fields = [each for field in message.fields if (each := _field(field, path)) is not None]
    return pa.struct(fields) if fields else None


def _field(field: FieldDescriptor, path: tuple[str, ...]) -> pa.Field | None:
    if is_map(field):
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        to = _plain(value, path)
        if to is None:
            return None
        items = pa.field("value", to, nullable=False)
        return pa.field(field.name, pa.map_(scalar_type(key), items))
    to = _plain(field, path)
    if to is None:
        return None
    if field.is_repeated:
        return pa.field(field.name, pa.list_(pa.field("element", to, nullable=False)))
    return pa.field(field.name, to, nullable=not field.is_required)


def _plain(field: FieldDescriptor, path: tuple[str, ...]) -> pa.DataType | None:
    """The type of one value of a field."""
    message = field.message_type
    if message is None:
        return scalar_type(field)
    if (time := time_type(message)) is not None:
        return time
    if len(path) > _MAX_DEPTH:
        raise SchemaError(
            f"the field {field.full_name} is in more than {_MAX_DEPTH} messages: choose other "
            "fields with .schema(...)"
        )
    if message.full_name in path:
        raise SchemaError(
            f"the message {message.full_name} contains itself in the field {field.full_name}: "
            "choose other fields with .schema(...)"
        )
    return _struct(message, (*path, message.full_name))
