"""The part of an Avro schema that a query wants, by the type that it wants.

Fields that are not wanted are neither decoded nor checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from kafka_formats.arrow.type_match import check_type, refuse_not_null, wanted_fields
from kafka_formats.avro.logical import Logical
from kafka_formats.avro.schema import (
    Array,
    Field,
    Fixed,
    Map,
    Primitive,
    RecordSchema,
    Recursive,
    Schema,
    Union,
    kind_of,
)
from kafka_formats.avro.types import arrow_type, is_nullable, members_of
from kafka_formats.errors import ITEMS, VALUES, path_of


def project(schema: Schema, wanted: pa.DataType) -> Schema:
    """The schema whose Arrow type is `wanted`: the fields of its structs, in their order.

    Parts that the schema has as not null may be nullable in `wanted`, never the other way round.
    A decimal that is too wide for Spark may be a string, a narrower decimal, or binary. A record
    that contains itself may be wanted as deep as `wanted` is.

    Raises:
        SchemaError: A field is not in the schema, or has another type. Names the field.
    """
    return _project(schema, wanted, "")


def _project(schema: Schema, wanted: pa.DataType, path: str) -> Schema:
    if isinstance(schema, Recursive):
        schema = schema.record
    match schema:
        case RecordSchema() if pa.types.is_struct(wanted):
            return replace(schema, fields=_fields(schema, wanted, path))
        case Array(items) if pa.types.is_list(wanted):
            return Array(_part(items, wanted.value_field, path_of(path, ITEMS)))
        case Map(values) if pa.types.is_map(wanted) and wanted.key_type == pa.string():
            return Map(_part(values, wanted.item_field, path_of(path, VALUES)))
        case Union(branches) if not members_of(schema):
            return _nullable(branches, wanted, path) or _whole(schema, wanted, path)
        case Primitive() | Fixed():
            schema = _narrowed(schema, wanted)
    return _whole(schema, wanted, path)


def _fields(record: RecordSchema, wanted: pa.StructType, path: str) -> list[Field]:
    known = {field.name: field for field in record.fields}
    return [
        replace(field, schema=_part(field.schema, each, inner))
        for each, field, inner in wanted_fields(known, wanted, path)
    ]


def _part(schema: Schema, wanted: pa.Field, path: str) -> Schema:
    if is_nullable(schema):
        refuse_not_null(path, nullable=wanted.nullable)
    return _project(schema, wanted.type, path)


def _nullable(branches: Sequence[Schema], wanted: pa.DataType, path: str) -> Schema | None:
    """A union of null and one type; None for another union."""
    others = [branch for branch in branches if kind_of(branch) != "null"]
    if len(others) != 1:
        return None
    part = _project(others[0], wanted, path)
    return Union([part if branch is others[0] else branch for branch in branches])


def _narrowed(schema: Primitive | Fixed, wanted: pa.DataType) -> Primitive | Fixed:
    """The schema to read as a decimal or bytes, if it has a wider decimal."""
    logical = schema.logical
    if logical is not None and logical.is_text:
        if pa.types.is_decimal128(wanted):
            return replace(schema, logical=Logical(logical.name, wanted.precision, wanted.scale))
        if pa.types.is_binary(wanted):
            return replace(schema, logical=None)
    return schema


def _whole(schema: Schema, wanted: pa.DataType, path: str) -> Schema:
    check_type(arrow_type(schema), wanted, path)
    return schema
