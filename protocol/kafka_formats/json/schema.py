"""The type of a schema, which is a JSON Schema or a DDL of Spark's; and parts of types."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

import pyarrow as pa

from kafka_formats.errors import ITEMS, VALUES, SchemaError, named, path_of
from kafka_formats.json.ddl import parse_ddl
from kafka_formats.json.json_schema import arrow_type, title_of
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.payload.type_match import check_type, refuse_not_null, wanted_fields


def _is_json_schema(schema: SchemaText) -> bool:
    return schema.text.lstrip().startswith("{")


@lru_cache(maxsize=100)
def type_of(schema: SchemaText) -> pa.DataType:
    """The type of the values. All parts can be null, as with `from_json`.

    Raises:
        SchemaError: The schema is invalid or not supported.
    """
    return arrow_type(schema) if _is_json_schema(schema) else parse_ddl(schema.text)


def name_of(schema: SchemaText) -> str:
    """The title of a JSON Schema; empty without a title."""
    return title_of(schema) if _is_json_schema(schema) else ""


def check_part(schema: SchemaText, wanted: pa.DataType) -> None:
    """Check that a type is that of a schema, or has some of the fields of its structs.

    Raises:
        SchemaError: It is another one. Names the field.
    """
    _check(type_of(schema), wanted, "", _READ)


def check_written(schema: SchemaText, data_type: pa.DataType) -> None:
    """Check that the JSON of a type has a schema, as far as types go.

    Raises:
        SchemaError: It has not. Names the field.
    """
    _check(type_of(schema), data_type, "", _WRITE)


class _Rules(NamedTuple):
    """The checks of a field with a path, and of two types without fields in common."""

    field: Callable[[pa.Field, str], None]
    leaf: Callable[[pa.DataType, pa.DataType, str], None]


def _check(known: pa.DataType, wanted: pa.DataType, path: str, rules: _Rules) -> None:
    if pa.types.is_struct(known) and pa.types.is_struct(wanted):
        fields = {field.name: field.type for field in known}
        for field, type_, inner in wanted_fields(fields, wanted, path):
            _check_part(type_, field, inner, rules)
    elif pa.types.is_list(known) and pa.types.is_list(wanted):
        _check_part(known.value_type, wanted.value_field, path_of(path, ITEMS), rules)
    elif _have_same_keys(known, wanted):
        _check_part(known.item_type, wanted.item_field, path_of(path, VALUES), rules)
    else:
        rules.leaf(known, wanted, path)


def _check_part(known: pa.DataType, wanted: pa.Field, path: str, rules: _Rules) -> None:
    rules.field(wanted, path)
    _check(known, wanted.type, path, rules)


def _have_same_keys(known: pa.DataType, wanted: pa.DataType) -> bool:
    are_maps = pa.types.is_map(known) and pa.types.is_map(wanted)
    return are_maps and bool(known.key_type == wanted.key_type)


def _check_written(known: pa.DataType, written: pa.DataType, path: str) -> None:
    if known == written or pa.types.is_null(written):
        return
    for matches, fits in _WRITTEN:
        if matches(written) and fits(known, written):
            return
    raise SchemaError(f"{named(path)} has the type {known} in the schema, and {written} here")


def _holds_number(known: pa.DataType, written: pa.DataType) -> bool:
    if pa.types.is_signed_integer(known):
        return bool(known.bit_width >= written.bit_width)
    return bool(pa.types.is_floating(known) or pa.types.is_decimal(known))


# The types that are a string in JSON.
_TEXTS: Final = (pa.types.is_date32, pa.types.is_timestamp, pa.types.is_binary)
_WRITTEN: Final[
    tuple[tuple[Callable[..., bool], Callable[[pa.DataType, pa.DataType], bool]], ...]
] = (
    (pa.types.is_signed_integer, _holds_number),
    (pa.types.is_floating, lambda known, _: pa.types.is_floating(known)),
    (
        pa.types.is_decimal,
        lambda known, _: pa.types.is_floating(known) or pa.types.is_decimal(known),
    ),
    *((matches, lambda known, _: pa.types.is_string(known)) for matches in _TEXTS),
)

# JSON can lack any field; a written document may well have all of them.
_READ: Final = _Rules(
    lambda wanted, path: refuse_not_null(path, nullable=wanted.nullable), check_type
)
_WRITE: Final = _Rules(lambda _wanted, _path: None, _check_written)
