"""The type of a schema, which is a JSON Schema or a DDL of Spark's; and parts of types."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kafka_formats.arrow.type_match import check_type, refuse_not_null, wanted_fields
from kafka_formats.arrow.types import as_nullable
from kafka_formats.errors import ITEMS, VALUES, SchemaError, named, path_of
from kafka_formats.json.ddl import parse_ddl, to_ddl
from kafka_formats.json.json_schema import JsonSchema, title_of
from kafka_formats.json.known_type import KnownArrowType, KnownType, Shape, kinds_of
from kafka_formats.payload.schema_text import SchemaText


def _is_json_schema(schema: SchemaText) -> bool:
    text = schema.text.strip()
    return text.startswith("{") or text in {"true", "false"}


@lru_cache(maxsize=100)
def _known(schema: SchemaText) -> KnownType[Any]:
    return JsonSchema(schema) if _is_json_schema(schema) else KnownArrowType(parse_ddl(schema.text))


@lru_cache(maxsize=100)
def type_of(schema: SchemaText) -> pa.DataType:
    """The type of the values. All parts can be null, as with `from_json`.

    Raises:
        SchemaError: The schema is invalid or not supported.
    """
    known = _known(schema)
    return known.type_of(known.root, "")


def name_of(schema: SchemaText) -> str:
    """The title of a JSON Schema; empty without a title."""
    return title_of(schema) if _is_json_schema(schema) else ""


def check_part(schema: SchemaText, wanted: pa.DataType) -> None:
    """Check that a type equals a schema's type, or has some of the fields of its structs.

    Other fields are not looked at: they may have no type of Spark's. What has none may be read as
    a string, its JSON text, or as any type that its values can have.

    Raises:
        SchemaError: It is another one. Names the field.
    """
    known = _known(schema)
    _Check(known, _READ).part(known.root, wanted, "")


@lru_cache(maxsize=100)
def check_written(schema: SchemaText, data_type: pa.DataType) -> None:
    """Check that the JSON of a type has a schema, as far as types go.

    Raises:
        SchemaError: It has not. Names the field.
    """
    known = _known(schema)
    _Check(known, _WRITE).part(known.root, data_type, "")


class _Rules(NamedTuple):
    """Whether types fit a schema: in a read the wanted types, in a write the column's types.

    Attributes:
        fits: Whether a type fits a part of any shape; the shape is None if it is not supported.
        open_to: Whether kinds of values fit the kinds that the schema leaves open.
        field: Checks a field, by its path.
        text: Checks a type, with a path, where the schema leaves the type open.
        leaf: Checks a type, with a path, for values without parts of another type.
    """

    fits: Callable[[pa.DataType, Shape[Any] | None], bool]
    open_to: Callable[[frozenset[str], frozenset[str]], bool]
    field: Callable[[pa.Field, str], None]
    text: Callable[[pa.DataType, str], None]
    leaf: Callable[[pa.DataType, pa.DataType, str], None]


class _Check(NamedTuple):
    """The check of a type against that of a schema."""

    known: KnownType[Any]
    rules: _Rules

    def part(self, part: Any, given: pa.DataType, path: str) -> None:
        try:
            shape = self.known.shape(part, path)
        except SchemaError:
            if self.rules.fits(given, None):
                return
            raise
        if self.rules.fits(given, shape):
            return
        if pa.types.is_struct(given) and shape.fields is not None:
            for field, inner, inner_path in wanted_fields(shape.fields, given, path):
                self._field(inner, field, inner_path)
        elif pa.types.is_list(given) and shape.items is not None:
            self._field(shape.items, given.value_field, path_of(path, ITEMS))
        elif _has_string_keys(given) and shape.values is not None:
            self._field(shape.values, given.item_field, path_of(path, VALUES))
        elif shape.left_open:
            self._text(shape.left_open, given, path)
        else:
            self.rules.leaf(self.known.type_of(part, path), given, path)

    def _field(self, part: Any, given: pa.Field, path: str) -> None:
        self.rules.field(given, path)
        self.part(part, given.type, path)

    def _text(self, kinds: frozenset[str], given: pa.DataType, path: str) -> None:
        if not self.rules.open_to(kinds_of(given), kinds):
            listed = ", ".join(sorted(kinds))
            raise SchemaError(f"{named(path)} has values of the kinds {listed}, and not {given}")
        self.rules.text(given, path)


def _has_string_keys(wanted: pa.DataType) -> bool:
    return bool(pa.types.is_map(wanted) and pa.types.is_string(wanted.key_type))


def _fits_read(wanted: pa.DataType, shape: Shape[Any] | None) -> bool:
    """Whether a part is wanted as its JSON text: what is more than a value of one kind."""
    has_text = shape is None or shape.leaf is None or bool(shape.left_open)
    return has_text and bool(pa.types.is_string(wanted))


def _check_text_read(wanted: pa.DataType, path: str) -> None:
    to_ddl(wanted, path)
    refuse_not_null(path, nullable=as_nullable(wanted) == wanted)


def _check_written(known: pa.DataType, written: pa.DataType, path: str) -> None:
    if known == written:
        return
    for matches, fits in _WRITTEN:
        if matches(written) and fits(known, written):
            return
    raise SchemaError(f"{named(path)} has the type {known} in the schema, and {written} here")


def _holds_integer(known: pa.DataType, written: pa.DataType) -> bool:
    if pa.types.is_signed_integer(known):
        return bool(known.bit_width >= written.bit_width)
    return _holds_digits(known, len(str(2 ** (written.bit_width - 1))), 0)


def _holds_float(known: pa.DataType, written: pa.DataType) -> bool:
    return bool(pa.types.is_floating(known) and known.bit_width >= written.bit_width)


def _holds_decimal(known: pa.DataType, written: pa.Decimal128Type) -> bool:
    return _holds_digits(known, written.precision - written.scale, written.scale)


def _holds_digits(known: pa.DataType, before: int, after: int) -> bool:
    """Whether a type has as many digits before the point and after it.

    A decimal does not lose any. In a `number`, which is a double here, JSON has all of them.
    """
    if not pa.types.is_decimal(known):
        return bool(pa.types.is_floating(known))
    return bool(known.precision - known.scale >= before and known.scale >= after)


# The types that are a string in JSON.
_TEXTS: Final = (pa.types.is_date32, pa.types.is_timestamp, pa.types.is_binary)
_WRITTEN: Final[
    tuple[tuple[Callable[..., bool], Callable[[pa.DataType, pa.DataType], bool]], ...]
] = (
    (pa.types.is_signed_integer, _holds_integer),
    (pa.types.is_floating, _holds_float),
    (pa.types.is_decimal, _holds_decimal),
    *((matches, lambda known, _: pa.types.is_string(known)) for matches in _TEXTS),
)

# JSON can lack any field; a written document may well have all of them.
_READ: Final = _Rules(
    fits=_fits_read,
    # Values of other kinds are broken payloads.
    open_to=lambda wanted, kinds: bool(wanted & kinds),
    field=lambda wanted, path: refuse_not_null(path, nullable=wanted.nullable),
    text=_check_text_read,
    leaf=check_type,
)
_WRITE: Final = _Rules(
    fits=lambda written, _shape: bool(pa.types.is_null(written)),
    open_to=lambda written, kinds: bool(written) and written <= kinds,
    field=lambda _written, _path: None,
    text=lambda _written, _path: None,
    leaf=_check_written,
)
