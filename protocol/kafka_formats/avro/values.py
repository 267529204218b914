"""The defaults of fields: JSON -> values as `pyarrow.array` takes them.

Source: Apache Avro 1.12, "Complex Types", field default values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafka_formats.arrow.decimals import decimal_of, text_of
from kafka_formats.avro.logical import Logical, ratio_of
from kafka_formats.avro.schema import (
    Array,
    Enum,
    Fixed,
    Map,
    Primitive,
    RecordSchema,
    Schema,
    Union,
    is_text,
)
from kafka_formats.avro.types import members_of, raw_branches
from kafka_formats.errors import SchemaError, named, path_of

_RANGES: Final[Mapping[str, int]] = {"int": 2**31, "long": 2**63}


def default_of(schema: Schema, value: Any, path: str) -> Any:
    """The default of a field.

    Raises:
        SchemaError: The JSON does not have the type of the field.
    """
    try:
        return _VALUES[type(schema)](schema, value, path)
    except _MismatchError:
        raise SchemaError(f"the default of {named(path)} does not have its type") from None


class _MismatchError(Exception):
    pass


def _check(fits: bool) -> None:
    if not fits:
        raise _MismatchError


def _of_primitive(schema: Primitive, value: Any, path: str) -> Any:
    match schema.name:
        case "null":
            _check(value is None)
        case "boolean":
            _check(isinstance(value, bool))
        case "int" | "long":
            _check(_is_integer(value) and _fits(value, schema.name))
            shown = value * ratio_of(schema.logical, schema.logical).times
            _check(_fits(shown, "long"))
            return shown
        case "float" | "double":
            _check(_is_integer(value) or isinstance(value, float))
            return _float(value)
        case "string":
            _check(isinstance(value, str) and is_text(value))
        case _:
            return _of_bytes(schema, value, path)
    return value


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        # As JSON's 1e999 is.
        return float("inf") if value > 0 else float("-inf")


def _of_enum(schema: Enum, value: Any, _path: str) -> str:
    _check(value in schema.symbols)
    return str(value)


def _of_array(schema: Array, value: Any, path: str) -> list[Any]:
    _check(isinstance(value, list))
    return [default_of(schema.items, each, path) for each in value]


def _of_map(schema: Map, value: Any, path: str) -> list[tuple[str, Any]]:
    _check(isinstance(value, dict) and all(map(is_text, value)))
    return [(key, default_of(schema.values, each, path)) for key, each in value.items()]


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _fits(value: int, name: str) -> bool:
    return -_RANGES[name] <= value < _RANGES[name]


def _of_bytes(schema: Primitive | Fixed, value: Any, _path: str) -> Any:
    _check(isinstance(value, str) and all(ord(each) < 0x100 for each in value))
    data = value.encode("latin-1")
    _check(isinstance(schema, Primitive) or len(data) == schema.size)
    if schema.logical is None or schema.logical.name != "decimal":
        return data
    return _decimal(data, schema.logical)


def _decimal(data: bytes, logical: Logical) -> Any:
    number = int.from_bytes(data, "big", signed=True)
    _check(bool(data) and abs(number) < 10**logical.precision)
    return (text_of if logical.is_text else decimal_of)(number, logical.scale)


def _of_record(schema: RecordSchema, value: Any, path: str) -> dict[str, Any]:
    _check(isinstance(value, dict))
    record = {}
    for field in schema.fields:
        inner = path_of(path, field.name)
        if field.name in value:
            record[field.name] = default_of(field.schema, value[field.name], inner)
        elif field.has_default:
            record[field.name] = default_of(field.schema, field.default, inner)
        else:
            raise SchemaError(f"the default of {named(path)} lacks {field.name!r}")
    return record


def _of_union(schema: Union, value: Any, path: str) -> Any:
    """Avro 1.12 takes any branch, older releases the first."""
    members = members_of(schema)
    for branch in raw_branches(schema).branches:
        try:
            default = default_of(branch, value, path)
        except SchemaError:
            continue
        return {f"member{members.index(branch)}": default} if branch in members else default
    raise _MismatchError


_VALUES: Final[Mapping[type[Schema], Callable[[Any, Any, str], Any]]] = {
    Primitive: _of_primitive,
    Fixed: _of_bytes,
    Enum: _of_enum,
    Array: _of_array,
    Map: _of_map,
    RecordSchema: _of_record,
    Union: _of_union,
}
