"""Compares a wanted type with a schema: the rules, and the errors if it does not fit.

Each format walks its own schema, and asks here at each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

import pyarrow as pa

from kafka_formats.errors import SchemaError, named, path_of

T = TypeVar("T")


def wanted_fields(
    known: Mapping[str, T], wanted: pa.StructType, path: str
) -> Iterator[tuple[pa.Field, T, str]]:
    """The wanted fields of a struct: each with the schema's entry of its name, and its path.

    Args:
        known: Name -> the schema's entry.
        wanted: Some of the fields, in any order.
        path: The path of the struct.

    Raises:
        SchemaError: There is no such field. Names it, and the fields that there are.
    """
    for field in wanted:
        inner = path_of(path, field.name)
        if field.name not in known:
            raise SchemaError(f"there is no field {inner!r}; there are {', '.join(known)}")
        yield field, known[field.name], inner


def refuse_not_null(path: str, *, nullable: bool) -> None:
    """Check that the wanted type can be null, as the values of the schema can.

    Raises:
        SchemaError: It cannot.
    """
    if not nullable:
        raise SchemaError(f"{named(path)} can be null: leave NOT NULL out of its type")


def check_type(known: pa.DataType, wanted: pa.DataType, path: str) -> None:
    """Check that the wanted type equals a schema's type; any part may be nullable.

    Raises:
        SchemaError: The types differ.
    """
    if not _is_same(known, wanted):
        raise wrong_type(str(known), wanted, path)


def wrong_type(known: str, wanted: pa.DataType, path: str) -> SchemaError:
    """The error for a wanted type that is not the schema's type."""
    return SchemaError(f"{named(path)} has the type {known}, not {wanted}")


def _is_same(known: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether types are equal, without nullability and the names of list items and map entries."""
    if pa.types.is_struct(known) and pa.types.is_struct(wanted):
        pairs = zip(known, wanted, strict=False)
        return known.num_fields == wanted.num_fields and all(
            each.name == other.name and _is_same_field(each, other) for each, other in pairs
        )
    if pa.types.is_list(known) and pa.types.is_list(wanted):
        return _is_same_field(known.value_field, wanted.value_field)
    if pa.types.is_map(known) and pa.types.is_map(wanted):
        return wanted.key_type == known.key_type and _is_same_field(
            known.item_field, wanted.item_field
        )
    return bool(known == wanted)


def _is_same_field(known: pa.Field, wanted: pa.Field) -> bool:
    return (wanted.nullable or not known.nullable) and _is_same(known.type, wanted.type)
