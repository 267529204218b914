"""Arrow types -> JSON Schemas, for columns that are written without a schema of their own.

Draft 7, with `connect.type` and `oneOf` with null as Confluent's `JsonSchemaData` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from kafka_formats.errors import ITEMS, VALUES, SchemaError, about, path_of

_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"


def derive_schema(data_type: pa.DataType) -> str:
    """The schema that a column of this type is written with.

    Raises:
        SchemaError: JSON has no such type. Names the field.
    """
    return json.dumps({"$schema": _DRAFT} | _schema(data_type, ""))


def _schema(data_type: pa.DataType, path: str) -> dict[str, Any]:
    for matches, make in _NESTED:
        if matches(data_type):
            return make(data_type, path)
    for matches, plain in _SIMPLE:
        if matches(data_type):
            return dict(plain)
    raise SchemaError(about(path, f"JSON has no type {data_type}"))


def _part(field: pa.Field, path: str) -> dict[str, Any]:
    schema = _schema(field.type, path)
    if not field.nullable or schema == {"type": "null"}:
        return schema
    return {"oneOf": [{"type": "null"}, schema]}


def _struct(data_type: pa.StructType, path: str) -> dict[str, Any]:
    fields = {
        field.name: _part(field, path_of(path, field.name)) | {"connect.index": number}
        for number, field in enumerate(data_type)
    }
    required = [field.name for field in data_type if not field.nullable]
    schema = {"type": "object", "properties": fields}
    return schema | ({"required": required} if required else {})


def _list(data_type: pa.ListType, path: str) -> dict[str, Any]:
    return {"type": "array", "items": _part(data_type.value_field, path_of(path, ITEMS))}


def _map(data_type: pa.MapType, path: str) -> dict[str, Any]:
    if not pa.types.is_string(data_type.key_type):
        raise SchemaError(about(path, "keys of maps must be strings in JSON"))
    return {
        "type": "object",
        "additionalProperties": _part(data_type.item_field, path_of(path, VALUES)),
    }


def _decimal(data_type: pa.Decimal128Type, _path: str) -> dict[str, Any]:
    scale = {"scale": str(data_type.scale)}
    named = {"title": _DECIMAL, "connect.type": "bytes", "connect.parameters": scale}
    return {"type": "number"} | named


_Matches = Callable[[pa.DataType], bool]
_NESTED: Final[tuple[tuple[_Matches, Callable[[Any, str], dict[str, Any]]], ...]] = (
    (pa.types.is_struct, _struct),
    (pa.types.is_list, _list),
    (pa.types.is_map, _map),
    (pa.types.is_decimal, _decimal),
)
_SIMPLE: Final[tuple[tuple[_Matches, dict[str, str]], ...]] = (
    (pa.types.is_null, {"type": "null"}),
    (pa.types.is_boolean, {"type": "boolean"}),
    (pa.types.is_int8, {"type": "integer", "connect.type": "int8"}),
    (pa.types.is_int16, {"type": "integer", "connect.type": "int16"}),
    (pa.types.is_int32, {"type": "integer", "connect.type": "int32"}),
    (pa.types.is_int64, {"type": "integer", "connect.type": "int64"}),
    (pa.types.is_float32, {"type": "number", "connect.type": "float32"}),
    (pa.types.is_float64, {"type": "number", "connect.type": "float64"}),
    (pa.types.is_string, {"type": "string"}),
    (pa.types.is_binary, {"type": "string", "connect.type": "bytes"}),
    (pa.types.is_date32, {"type": "string", "format": "date"}),
    (lambda each: pa.types.is_timestamp(each) and each.tz is None, {"type": "string"}),
    (pa.types.is_timestamp, {"type": "string", "format": "date-time"}),
)
