"""How to read a message as the type that a query wants: its fields, found by name.

Fields that are not wanted are not in the plan; a message that contains itself may be read without
the field that does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor

from kafka_formats.arrow.type_match import (
    check_type,
    refuse_not_null,
    wanted_fields,
    wrong_type,
)
from kafka_formats.errors import ITEMS, VALUES, SchemaError, named, path_of
from kafka_formats.protobuf.decimals import Told, is_decimal, told_by
from kafka_formats.protobuf.types import is_map, scalar_type, time_type

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

_ENUM: Final = FieldDescriptor.CPPTYPE_ENUM


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts."""

    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Unsigned:
    """A number whose bits are read as a signed one of `bits`."""

    type: pa.DataType
    bits: int


@dataclass(frozen=True, slots=True)
class Enum:
    """The name of a number, or the name that protobuf's Java gives an unknown one."""

    type: pa.DataType
    names: Mapping[int, str]
    numbers: Mapping[str, int]
    unknown: str


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds and nanos as microseconds. `parts` are the attributes that have them."""

    type: pa.DataType
    parts: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Decimal:
    """A decimal of Confluent's, as a decimal or a string.

    Attributes:
        declared: The precision and scale in the options of the field; None without options.
        parts: The attributes that have the value, its precision and its scale.
    """

    type: pa.DataType
    declared: Told | None
    parts: tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """A field of a message.

    Attributes:
        name: The name of the field.
        attribute: Its name in a parsed message.
        plan: For one value.
        is_list: Whether it is repeated.
        keys: For a map, the plan of its keys.
        has_presence: Whether a message knows that it lacks the field.
        default: The value that an absent field shows; None if the schema has none for it.
        is_required: Whether no message lacks it.
        type: The type of the whole field.
        nullable: Whether the type says so.
    """

    name: str
    attribute: str
    plan: ValuePlan
    is_list: bool
    keys: ValuePlan | None
    has_presence: bool
    default: Any
    is_required: bool
    type: pa.DataType
    nullable: bool


@dataclass(frozen=True, slots=True)
class MessagePlan:
    """A message.

    Attributes:
        members: The wanted fields.
        required: The names and the attributes of all fields that no message lacks.
        oneofs: The names of wanted fields of which a message has one at most, by their oneof.
    """

    type: pa.DataType
    members: tuple[FieldPlan, ...]
    required: Mapping[str, str]
    oneofs: Mapping[str, Sequence[str]]


ValuePlan: TypeAlias = "Scalar | Unsigned | Enum | Time | Decimal | MessagePlan"


def attribute_of(field: FieldDescriptor) -> str:
    """The name of a field in parsed messages: any other might be that of a method."""
    return f"f{field.number}"


def plan_for(message: Descriptor, wanted: pa.DataType) -> MessagePlan:
    """The plan to read a message as a type, which may have more that can be null.

    Raises:
        SchemaError: A field is not in the message, or has another type. Names the field.
    """
    plan = _root(message, wanted)
    _visit(plan, "", _refuse_not_null)
    return plan


def plan_to_write(message: Descriptor, given: pa.DataType) -> MessagePlan:
    """The plan to write values of a type as a message; other fields of it stay absent.

    Raises:
        SchemaError: A field is not in the message, has another type, or a required one is missing.
    """
    plan = _root(message, given)
    _visit(plan, "", _refuse_missing)
    return plan


def _root(message: Descriptor, wanted: pa.DataType) -> MessagePlan:
    if not pa.types.is_struct(wanted):
        raise SchemaError(f"the payload is a struct, not {wanted}")
    return _struct(message, wanted, "")


def _visit(plan: MessagePlan, path: str, check: Callable[[MessagePlan, str], None]) -> None:
    check(plan, path)
    for member in plan.members:
        if isinstance(member.plan, MessagePlan):
            _visit(member.plan, path_of(path, member.name), check)


def _refuse_not_null(plan: MessagePlan, path: str) -> None:
    for member in plan.members:
        if not member.is_required:
            refuse_not_null(path_of(path, member.name), nullable=member.nullable)


def _refuse_missing(plan: MessagePlan, path: str) -> None:
    missing = plan.required.keys() - {member.name for member in plan.members}
    if missing:
        names = ", ".join(sorted(path_of(path, name) for name in missing))
        raise SchemaError(f"the column lacks the required fields {names}")


def _struct(message: Descriptor, wanted: pa.StructType, path: str) -> MessagePlan:
    members = [
        _member(field, each, inner)
        for each, field, inner in wanted_fields(message.fields_by_name, wanted, path)
    ]
    if not members:
        raise SchemaError(f"{named(path, 'the type')} has no fields: name one")
    required = {each.name: attribute_of(each) for each in message.fields if each.is_required}
    return MessagePlan(wanted, tuple(members), required, _oneofs(message, wanted))


def _oneofs(message: Descriptor, wanted: pa.StructType) -> dict[str, list[str]]:
    among = {each.name for each in wanted}
    names = {
        oneof.name: [field.name for field in oneof.fields if field.name in among]
        for oneof in message.oneofs
    }
    return {oneof: fields for oneof, fields in names.items() if len(fields) > 1}


def _member(field: FieldDescriptor, wanted: pa.Field, path: str) -> FieldPlan:
    to = wanted.type
    keys = None
    if is_map(field):
        entry = field.message_type.fields_by_name
        if not pa.types.is_map(to) or to.key_type != scalar_type(entry["key"]):
            raise wrong_type(f"map with keys {scalar_type(entry['key'])}", to, path)
        keys = _value(entry["key"], to.key_type, path_of(path, VALUES))
        plan = _value(entry["value"], to.item_type, path_of(path, VALUES), field)
    elif field.is_repeated:
        if not pa.types.is_list(to):
            raise wrong_type("list", to, path)
        plan = _value(field, to.value_type, path_of(path, ITEMS))
    else:
        plan = _value(field, to, path)
    return FieldPlan(
        name=field.name,
        attribute=attribute_of(field),
        plan=plan,
        is_list=field.is_repeated and keys is None,
        keys=keys,
        has_presence=field.has_presence,
        default=field.default_value if _has_default(field) else None,
        is_required=field.is_required,
        type=to,
        nullable=wanted.nullable,
    )


def _has_default(field: FieldDescriptor) -> bool:
    return bool(field.has_default_value and not field.is_repeated)


def _message(
    field: FieldDescriptor, wanted: pa.DataType, path: str, owner: FieldDescriptor
) -> Time | Decimal | MessagePlan:
    """The plan of a message; `owner` is the field, or the map that it is a value of."""
    message = field.message_type
    parts = [attribute_of(each) for each in message.fields]
    if (time := time_type(message)) is not None:
        check_type(time, wanted, path)
        seconds, nanos = parts
        return Time(time, (seconds, nanos))
    if is_decimal(message) and (pa.types.is_decimal128(wanted) or pa.types.is_string(wanted)):
        value, precision, scale = parts
        return Decimal(wanted, told_by(field, owner), (value, precision, scale))
    if not pa.types.is_struct(wanted):
        raise wrong_type("struct", wanted, path)
    return _struct(message, wanted, path)


def _value(
    field: FieldDescriptor, wanted: pa.DataType, path: str, owner: FieldDescriptor | None = None
) -> ValuePlan:
    if field.message_type is not None:
        return _message(field, wanted, path, owner or field)
    scalar = scalar_type(field)
    check_type(scalar, wanted, path)
    if field.cpp_type == _ENUM:
        symbols = field.enum_type.values
        # The first name counts where several have a number.
        names = {each.number: each.name for each in reversed(symbols)}
        numbers = {each.name: each.number for each in symbols}
        return Enum(scalar, names, numbers, f"UNKNOWN_ENUM_VALUE_{field.enum_type.name}_")
    if field.cpp_type in {FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64}:
        return Unsigned(scalar, scalar.bit_width)
    return Scalar(scalar)
