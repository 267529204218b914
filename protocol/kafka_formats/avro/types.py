"""The Arrow types of Avro's types, as in Spark's `from_avro`.

Source: Spark's `SchemaConverters.toSqlType`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from kafka_formats.avro.logical import Logical
from kafka_formats.avro.schema import (
    Array,
    Enum,
    Fixed,
    Map,
    Primitive,
    RecordSchema,
    Recursive,
    Schema,
    Union,
    kind_of,
)
from kafka_formats.errors import SchemaError

_PRIMITIVES: Final[Mapping[str, pa.DataType]] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
# Spark shows other logical types as the type that they annotate.
_LOGICAL: Final[Mapping[str, pa.DataType]] = {
    "date": pa.date32(),
    "timestamp-millis": pa.timestamp("us", tz="UTC"),
    "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "local-timestamp-millis": pa.timestamp("us"),
    "local-timestamp-micros": pa.timestamp("us"),
}
# Unions of numbers that Spark shows as one type: the written number, whatever it annotates.
_WIDENED: Final[Mapping[frozenset[str], pa.DataType]] = {
    frozenset({"int", "long"}): pa.int64(),
    frozenset({"float", "double"}): pa.float64(),
}


def arrow_type(schema: Schema) -> pa.DataType:
    """The Arrow type of a schema; `null` alone has the type null.

    Raises:
        SchemaError: A record contains itself.
    """
    return _TYPES[type(schema)](schema)


def is_nullable(schema: Schema) -> bool:
    """Whether a value may be null."""
    if isinstance(schema, Union):
        return any(is_nullable(branch) for branch in schema.branches)
    return kind_of(schema) == "null"


def _primitive_type(schema: Primitive) -> pa.DataType:
    return _annotated(schema.logical, _PRIMITIVES[schema.name])


def _fixed_type(schema: Fixed) -> pa.DataType:
    return _annotated(schema.logical, pa.binary())


def _array_type(schema: Array) -> pa.DataType:
    return pa.list_(_field("element", schema.items))


def _map_type(schema: Map) -> pa.DataType:
    return pa.map_(pa.string(), _field("value", schema.values))


def _record_type(schema: RecordSchema) -> pa.DataType:
    return pa.struct([_field(field.name, field.schema) for field in schema.fields])


def _field(name: str, schema: Schema) -> pa.Field:
    return pa.field(name, arrow_type(schema), nullable=is_nullable(schema))


def _annotated(logical: Logical | None, plain: pa.DataType) -> pa.DataType:
    if logical is None:
        return plain
    if logical.is_text:
        return pa.string()
    if logical.name == "decimal":
        return pa.decimal128(logical.precision, logical.scale)
    return _LOGICAL.get(logical.name, plain)


def members_of(union: Union) -> list[Schema]:
    """The types of a union, without null, that Spark shows as members of a struct; else none."""
    branches = _not_null(union)
    is_struct = len(branches) > 1 and _widened(branches) is None
    return branches if is_struct else []


def member_name(number: int) -> str:
    """The name of a type of a union in its struct."""
    return f"member{number}"


def raw_branches(union: Union) -> Union:
    """The union, without what its numbers annotate if Spark shows them as one type."""
    if _widened(_not_null(union)) is None:
        return union
    return Union([raw(branch) for branch in union.branches])


def raw(schema: Schema) -> Schema:
    """A type without what it annotates."""
    return Primitive(schema.name) if isinstance(schema, Primitive) else schema


def _not_null(union: Union) -> list[Schema]:
    return [branch for branch in union.branches if kind_of(branch) != "null"]


def _widened(branches: list[Schema]) -> pa.DataType | None:
    return _WIDENED.get(frozenset(map(kind_of, branches)))


def _union_type(union: Union) -> pa.DataType:
    if members := members_of(union):
        return pa.struct(
            [pa.field(member_name(number), arrow_type(each)) for number, each in enumerate(members)]
        )
    branches = _not_null(union)
    if not branches:
        return pa.null()
    return _widened(branches) or arrow_type(branches[0])


def _no_type(schema: Recursive) -> pa.DataType:
    raise SchemaError(
        f"the record {schema.name!r} contains itself, which has no type in Spark: name the fields "
        "to read with .schema(...), without that one or as deep as you need it"
    )


_TYPES: Final[Mapping[type[Schema], Callable[[Any], pa.DataType]]] = {
    Primitive: _primitive_type,
    Fixed: _fixed_type,
    Enum: lambda _: pa.string(),
    Array: _array_type,
    Map: _map_type,
    RecordSchema: _record_type,
    Union: _union_type,
    Recursive: _no_type,
}
