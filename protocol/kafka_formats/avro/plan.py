"""How to read the payloads of one schema as the type of another: a tree, made once for both.

`decode` and `decode_one` read with it. Types are as in Spark's `from_avro`.

Source: Apache Avro 1.12, "Schema Resolution"; Spark's `SchemaConverters`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pyarrow as pa

from kafka_formats.avro.schema import (
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Primitive,
    Record,
    Schema,
    Union,
    kind_of,
)
from kafka_formats.avro.types import arrow_type, members_of
from kafka_formats.avro.values import default_of
from kafka_formats.errors import ITEMS, VALUES, SchemaError, about, named, path_of


@dataclass(frozen=True, slots=True)
class Null:
    """No bytes; a null of the type."""

    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Number:
    """An int, long, float or double, times `scale`, as a number, a date or a timestamp."""

    type: pa.DataType
    written: str
    scale: int = 1


@dataclass(frozen=True, slots=True)
class Boolean:
    """A boolean."""

    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes or a string: of `size`, or with their length before them."""

    type: pa.DataType
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Symbol:
    """The number of a symbol; None for one that the reader does not know."""

    type: pa.DataType
    symbols: Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Decimal:
    """A decimal in bytes, of `size` or with their length before them."""

    type: pa.Decimal128Type
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A written field: its name, and its place in the struct; None for one that is skipped."""

    name: str
    plan: Plan
    place: int | None


@dataclass(frozen=True, slots=True)
class Struct:
    """A record; `constants` has the values of places that nothing was written for."""

    type: pa.StructType
    steps: Sequence[Step]
    constants: Mapping[int, Any]


@dataclass(frozen=True, slots=True)
class Items:
    """Blocks of items: an array, or a map with structs of key and value as items."""

    type: pa.ListType | pa.MapType
    item: Plan


@dataclass(frozen=True, slots=True)
class Choice:
    """The number of a branch, and its value; None for a branch that the reader has no place for."""

    type: pa.DataType
    branches: Sequence[Plan | None]


@dataclass(frozen=True, slots=True)
class Member:
    """A value that becomes one member of a struct, as Spark shows unions of several types."""

    type: pa.StructType
    member: int
    plan: Plan


Plan: TypeAlias = (
    "Null | Number | Boolean | Bytes | Symbol | Decimal | Struct | Items | Choice | Member"
)

# Written type -> the types that it may be read as.
_PROMOTIONS: Final[Mapping[str, frozenset[str]]] = {
    "int": frozenset({"int", "long", "float", "double"}),
    "long": frozenset({"long", "float", "double"}),
    "float": frozenset({"float", "double"}),
    "double": frozenset({"double"}),
    "string": frozenset({"string", "bytes"}),
    "bytes": frozenset({"bytes", "string"}),
}
_MILLIS: Final = frozenset({"timestamp-millis", "local-timestamp-millis"})
# Limits that both ways to decode keep: the largest timestamp in ms that 64 bits hold in us.
MAX_MILLIS: Final = (2**63 - 1) // 1_000
# The most items without bytes, such as nulls, of one list: nothing else limits them.
MAX_EMPTY_ITEMS: Final = 1_000

_NUMBER_BYTES: Final = {"int": 1, "long": 1, "float": 4, "double": 8}


def min_bytes(plan: Plan) -> int:
    """The least bytes of a value."""
    match plan:
        case Null():
            return 0
        case Number():
            return _NUMBER_BYTES[plan.written]
        case Bytes() | Decimal():
            return 1 if plan.size is None else plan.size
        case Struct():
            return sum(min_bytes(step.plan) for step in plan.steps)
        case Member():
            return min_bytes(plan.plan)
        case _:
            return 1


def resolve(writer: Schema, reader: Schema) -> Plan:
    """How to read a payload that was written with one schema as the type of the other.

    Raises:
        SchemaError: The two do not fit each other. Names the field.
    """
    plan = _resolve(writer, reader, "")
    if plan is None:
        raise _mismatch(writer, reader, "")
    return plan


def _required(writer: Schema, reader: Schema, path: str) -> Plan:
    plan = _resolve(writer, reader, path)
    if plan is None:
        raise _mismatch(writer, reader, path)
    return plan


def _mismatch(writer: Schema, reader: Schema, path: str) -> SchemaError:
    return SchemaError(about(path, f"{kind_of(writer)} was written, {kind_of(reader)} is expected"))


def _resolve(writer: Schema, reader: Schema, path: str) -> Plan | None:
    """None if the types do not fit each other."""
    if isinstance(writer, Union):
        return _of_branches(writer, reader, path)
    if isinstance(reader, Union):
        return _into_branch(writer, reader, path)
    if type(writer) is not type(reader):
        return None
    return _OF_SAME_KIND[type(writer)](writer, reader, path)


def _is_same_name(writer: Fixed | Enum | Record, reader: Fixed | Enum | Record) -> bool:
    """As in Java: the names without their namespaces, or an alias of the reader."""
    if writer.name.rpartition(".")[2] == reader.name.rpartition(".")[2]:
        return True
    return writer.name in reader.aliases


def _primitive(writer: Primitive, reader: Primitive, _path: str) -> Plan | None:
    if reader.name not in _PROMOTIONS.get(writer.name, {writer.name}):
        return None
    to = arrow_type(reader)
    if reader.name in {"bytes", "string"}:
        return _bytes(reader, None)
    if reader.name == "null":
        return Null(to)
    if reader.name == "boolean":
        return Boolean(to)
    logical = reader.logical.name if reader.logical else ""
    return Number(to, writer.name, 1_000 if logical in _MILLIS else 1)


def _fixed(writer: Fixed, reader: Fixed, _path: str) -> Plan | None:
    is_same = writer.size == reader.size and _is_same_name(writer, reader)
    return _bytes(reader, writer.size) if is_same else None


def _bytes(reader: Primitive | Fixed, size: int | None) -> Plan:
    to = arrow_type(reader)
    return Decimal(to, size) if pa.types.is_decimal(to) else Bytes(to, size)


def _enum(writer: Enum, reader: Enum, _path: str) -> Plan | None:
    if not _is_same_name(writer, reader):
        return None
    known = set(reader.symbols)
    symbols = [each if each in known else reader.default for each in writer.symbols]
    return Symbol(arrow_type(reader), symbols)


def _array(writer: Array, reader: Array, path: str) -> Plan:
    return Items(arrow_type(reader), _required(writer.items, reader.items, path_of(path, ITEMS)))


def _map(writer: Map, reader: Map, path: str) -> Plan:
    to = arrow_type(reader)
    value = _required(writer.values, reader.values, path_of(path, VALUES))
    steps = [Step("key", Bytes(pa.string()), 0), Step("value", value, 1)]
    entry = pa.struct([to.key_field, to.item_field])
    return Items(to, Struct(entry, steps, {}))


def _record(writer: Record, reader: Record, path: str) -> Plan | None:
    if not _is_same_name(writer, reader):
        return None
    aliases = {name: at for at, each in enumerate(reader.fields) for name in each.aliases}
    places = aliases | {each.name: at for at, each in enumerate(reader.fields)}
    steps = []
    left = dict(enumerate(reader.fields))
    for field in writer.fields:
        place = places.get(field.name)
        inner = path_of(path, field.name)
        if place is None or place not in left:
            unread = _unread(field.schema)
            steps.append(Step(field.name, _required(unread, unread, inner), None))
        else:
            wanted = left.pop(place)
            steps.append(Step(field.name, _required(field.schema, wanted.schema, inner), place))
    constants = {place: _default(field, path) for place, field in left.items()}
    return Struct(arrow_type(reader), steps, constants)


def _unread(schema: Schema) -> Schema:
    """A schema of the same bytes, without rules for their meaning."""
    unread: Schema
    match schema:
        case Primitive(name):
            unread = _SAME_BYTES.get(name, Primitive(name))
        case Fixed():
            unread = Fixed(schema.name, schema.size)
        case Enum():
            unread = Primitive("long")
        case Array(items):
            unread = Array(_unread(items))
        case Map(values):
            entry = [Field("key", Primitive("bytes")), Field("value", _unread(values))]
            unread = Array(Record("entry", entry))
        case Union(branches):
            unread = Union([*map(_unread, branches)])
        case Record(name, fields):
            unread = Record(name, [Field(each.name, _unread(each.schema)) for each in fields])
    return unread


_SAME_BYTES: Final[Mapping[str, Schema]] = {
    "boolean": Fixed("boolean", 1),
    "int": Primitive("long"),
    "string": Primitive("bytes"),
}


def _default(field: Field, path: str) -> Any:
    inner = path_of(path, field.name)
    if not field.has_default:
        raise SchemaError(f"{named(inner)} was not written and has no default")
    return default_of(field.schema, field.default, inner)


_OF_SAME_KIND: Final[Mapping[type[Schema], Callable[[Any, Any, str], Plan | None]]] = {
    Primitive: _primitive,
    Fixed: _fixed,
    Enum: _enum,
    Array: _array,
    Map: _map,
    Record: _record,
}


def _of_branches(writer: Union, reader: Schema, path: str) -> Plan | None:
    branches = [_branch(branch, reader, path) for branch in writer.branches]
    if all(branch is None for branch in branches):
        return None
    return Choice(arrow_type(reader), branches)


def _branch(writer: Schema, reader: Schema, path: str) -> Plan | None:
    try:
        return _resolve(writer, reader, path)
    except SchemaError:
        return None


def _into_branch(writer: Schema, reader: Union, path: str) -> Plan | None:
    """The branch of a value that was written without a union: of its own type, or that fits."""
    to = arrow_type(reader)
    ordered = sorted(
        enumerate(reader.branches), key=lambda each: kind_of(each[1]) != kind_of(writer)
    )
    for number, branch in ordered:
        plan = _branch(writer, branch, path)
        if plan is not None:
            return _as_union(plan, reader, number, to)
    return None


def _as_union(plan: Plan, reader: Union, number: int, to: pa.DataType) -> Plan | None:
    """The value of a branch as the type of its union."""
    if isinstance(plan, Null):
        return Null(to)
    if members := members_of(reader):
        return Member(to, members.index(reader.branches[number]), plan)
    if isinstance(plan, Number):
        # A union of int and long is read as long, and one of float and double as double.
        return Number(to, plan.written, plan.scale)
    return plan
