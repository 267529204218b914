"""Arrow types -> Avro schemas, for columns that are written without a schema of their own.

Source: Spark's `SchemaConverters.toAvroType`. Unlike there null is the first branch of a union and
the default, so that a later schema can leave a field out; and decimals are of type bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from kafka_formats.errors import SchemaError

# The name of Spark's `to_avro`.
RECORD_NAME: Final = "topLevelRecord"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_Matches = Callable[[pa.DataType], bool]
_PRIMITIVES: Final[tuple[tuple[_Matches, str], ...]] = (
    (pa.types.is_null, "null"),
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int64, "long"),
    (pa.types.is_signed_integer, "int"),
    (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"),
    (pa.types.is_string, "string"),
    (pa.types.is_binary, "bytes"),
)


def derive_schema(data_type: pa.DataType) -> str:
    """The schema in JSON that a column of this type is written with.

    Raises:
        SchemaError: Avro has no such type, or no such name. Names the field.
    """
    return json.dumps(_schema(data_type, RECORD_NAME, ""))


def _schema(data_type: pa.DataType, name: str, namespace: str) -> Any:
    for matches, make in _NESTED.items():
        if matches(data_type):
            return make(data_type, name, namespace)
    for matches, primitive in _PRIMITIVES:
        if matches(data_type):
            return primitive
    raise SchemaError(f"the field {name!r}: Avro has no type {data_type}")


def _record(data_type: pa.StructType, name: str, namespace: str) -> Any:
    inner = f"{namespace}.{name}" if namespace else name
    fields = [_field(field, inner) for field in data_type]
    named = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"type": "record", **named, "fields": fields}


def _field(field: pa.Field, namespace: str) -> Any:
    if not _NAME.fullmatch(field.name):
        raise SchemaError(
            f"the field {field.name!r} has no name that Avro allows: letters, digits and "
            "underscores, not a digit first"
        )
    definition = {"name": field.name, "type": _part(field, field.name, namespace)}
    return definition | {"default": None} if field.nullable else definition


def _part(field: pa.Field, name: str, namespace: str) -> Any:
    schema = _schema(field.type, name, namespace)
    return ["null", schema] if field.nullable and schema != "null" else schema


def _list(data_type: pa.ListType, name: str, namespace: str) -> Any:
    return {"type": "array", "items": _part(data_type.value_field, name, namespace)}


def _map(data_type: pa.MapType, name: str, namespace: str) -> Any:
    if not pa.types.is_string(data_type.key_type):
        raise SchemaError(f"the field {name!r}: keys of maps must be strings in Avro")
    return {"type": "map", "values": _part(data_type.item_field, name, namespace)}


def _timestamp(data_type: pa.TimestampType, _name: str, _namespace: str) -> Any:
    logical = "local-timestamp-micros" if data_type.tz is None else "timestamp-micros"
    return {"type": "long", "logicalType": logical}


def _date(_data_type: pa.DataType, _name: str, _namespace: str) -> Any:
    return {"type": "int", "logicalType": "date"}


def _decimal(data_type: pa.Decimal128Type, _name: str, _namespace: str) -> Any:
    logical = {"logicalType": "decimal", "precision": data_type.precision}
    return {"type": "bytes"} | logical | {"scale": data_type.scale}


_NESTED: Final[Mapping[_Matches, Callable[[Any, str, str], Any]]] = {
    pa.types.is_struct: _record,
    pa.types.is_list: _list,
    pa.types.is_map: _map,
    pa.types.is_timestamp: _timestamp,
    pa.types.is_date32: _date,
    pa.types.is_decimal: _decimal,
}
