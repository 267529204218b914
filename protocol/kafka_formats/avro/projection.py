"""The part of an Avro schema that a query wants, by the type that it wants.

Fields that are not wanted are neither decoded nor checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from kafka_formats.avro.schema import Array, Field, Map, Record, Schema, Union, kind_of
from kafka_formats.avro.types import arrow_type, is_nullable, members_of
from kafka_formats.errors import ITEMS, VALUES, SchemaError, named, path_of


def project(schema: Schema, wanted: pa.DataType) -> Schema:
    """The schema whose Arrow type is `wanted`: the fields of its structs, in their order.

    Parts that the schema has as not null may be nullable in `wanted`, never the other way round.

    Raises:
        SchemaError: A field is not in the schema, or has another type. Names the field.
    """
    return _project(schema, wanted, "")


def _project(schema: Schema, wanted: pa.DataType, path: str) -> Schema:
    match schema:
        case Record() if pa.types.is_struct(wanted):
            return replace(schema, fields=_fields(schema, wanted, path))
        case Array(items) if pa.types.is_list(wanted):
            return Array(_part(items, wanted.value_field, path_of(path, ITEMS)))
        case Map(values) if pa.types.is_map(wanted) and wanted.key_type == pa.string():
            return Map(_part(values, wanted.item_field, path_of(path, VALUES)))
        case Union(branches) if not members_of(schema):
            return _nullable(branches, wanted, path) or _whole(schema, wanted, path)
    return _whole(schema, wanted, path)


def _fields(record: Record, wanted: pa.StructType, path: str) -> list[Field]:
    known = {field.name: field for field in record.fields}
    found = []
    for each in wanted:
        inner = path_of(path, each.name)
        if each.name not in known:
            raise SchemaError(f"there is no field {inner!r}; there are {', '.join(known)}")
        field = known[each.name]
        found.append(replace(field, schema=_part(field.schema, each, inner)))
    return found


def _part(schema: Schema, wanted: pa.Field, path: str) -> Schema:
    if is_nullable(schema) and not wanted.nullable:
        raise SchemaError(f"{named(path)} can be null: leave NOT NULL out of its type")
    return _project(schema, wanted.type, path)


def _nullable(branches: Sequence[Schema], wanted: pa.DataType, path: str) -> Schema | None:
    """A union of null and one type; None for another union."""
    others = [branch for branch in branches if kind_of(branch) != "null"]
    if len(others) != 1:
        return None
    part = _project(others[0], wanted, path)
    return Union([part if branch is others[0] else branch for branch in branches])


def _whole(schema: Schema, wanted: pa.DataType, path: str) -> Schema:
    found = arrow_type(schema)
    if not _is_same(found, wanted):
        raise SchemaError(f"{named(path)} has the type {found}, not {wanted}")
    return schema


def _is_same(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether types are the same but for null and the names of parts that Spark does not see."""
    if pa.types.is_struct(found) and pa.types.is_struct(wanted):
        pairs = zip(found, wanted, strict=False)
        return found.num_fields == wanted.num_fields and all(
            each.name == other.name and _is_same_field(each, other) for each, other in pairs
        )
    if pa.types.is_list(found) and pa.types.is_list(wanted):
        return _is_same_field(found.value_field, wanted.value_field)
    if pa.types.is_map(found) and pa.types.is_map(wanted):
        return wanted.key_type == found.key_type and _is_same_field(
            found.item_field, wanted.item_field
        )
    return bool(found == wanted)


def _is_same_field(found: pa.Field, wanted: pa.Field) -> bool:
    return (wanted.nullable or not found.nullable) and _is_same(found.type, wanted.type)
