"""Arrow values -> messages -> payloads. A null is a field that the payload lacks.

Source: values are as for Spark's `ProtobufSerializer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
from google.protobuf.message import EncodeError, Message

from kafka_formats.arrow.arrays import with_type
from kafka_formats.errors import PayloadError
from kafka_formats.protobuf.decimals import parts_of
from kafka_formats.protobuf.plan import (
    Decimal,
    Enum,
    FieldPlan,
    MessagePlan,
    Scalar,
    Time,
    Unsigned,
    ValuePlan,
)
from kafka_formats.protobuf.runtime import missing

# What is written into a message of its own.
_PARTS: Final = (MessagePlan, Time, Decimal)


def encode(plan: MessagePlan, parsed: type[Message], values: pa.Array) -> pa.BinaryArray:
    """The payloads of structs without nulls.

    Raises:
        PayloadError: A value does not fit. Names the field.
    """
    # Times as numbers: Python has neither all of them nor nanoseconds.
    rows = with_type(values, _as_numbers(values.type)).to_pylist()
    return pa.array([_payload(plan, parsed, row) for row in rows], pa.binary())


def _payload(plan: MessagePlan, parsed: type[Message], row: dict[str, Any]) -> bytes:
    message: Any = parsed()
    _fill(plan, message, row)
    if not message.IsInitialized():
        raise PayloadError("", f"it lacks required fields: {', '.join(missing(plan, message))}")
    try:
        payload: bytes = message.SerializeToString()
    except EncodeError as error:
        raise PayloadError("", str(error)) from error
    return payload


def _fill(plan: MessagePlan, message: Any, row: dict[str, Any]) -> None:
    for oneof, names in plan.oneofs.items():
        given = [name for name in names if row[name] is not None]
        if len(given) > 1:
            raise PayloadError("", f"the oneof {oneof!r} has several values: {', '.join(given)}")
    for member in plan.members:
        value = row[member.name]
        if value is not None:
            try:
                _set(member, message, value)
            except PayloadError as error:
                raise error.within(member.name) from error
            except (TypeError, ValueError) as error:
                raise PayloadError(member.name, str(error)) from error


def _set(member: FieldPlan, message: Any, value: Any) -> None:
    name, plan = member.attribute, member.plan
    if member.keys is not None:
        to_key, entries = _CONVERTERS[type(member.keys)], getattr(message, name)
        for key, each in value:
            if each is None:
                raise PayloadError("", f"the value of the key {key!r} is null")
            entry_key = to_key(member.keys, key)
            if isinstance(plan, _PARTS):
                # The last one of equal keys counts, and not what both have together.
                entries[entry_key].Clear()
                _fill_message(plan, entries[entry_key], each)
            else:
                entries[entry_key] = _CONVERTERS[type(plan)](plan, each)
    elif member.is_list:
        items = getattr(message, name)
        for each in value:
            if each is None:
                raise PayloadError("", "an item is null")
            if isinstance(plan, _PARTS):
                _fill_message(plan, items.add(), each)
            else:
                items.append(_CONVERTERS[type(plan)](plan, each))
    elif isinstance(plan, _PARTS):
        inner = getattr(message, name)
        inner.SetInParent()
        _fill_message(plan, inner, value)
    else:
        setattr(message, name, _CONVERTERS[type(plan)](plan, value))


def _fill_message(plan: MessagePlan | Time | Decimal, message: Any, value: Any) -> None:
    if isinstance(plan, MessagePlan):
        _fill(plan, message, value)
        return
    parts = (
        _seconds_and_nanos(plan, value)
        if isinstance(plan, Time)
        else parts_of(value, plan.declared)
    )
    for name, part in zip(plan.parts, parts, strict=True):
        setattr(message, name, part)


def _seconds_and_nanos(plan: Time, value: int) -> tuple[int, int]:
    seconds, micros = divmod(value, 1_000_000)
    if pa.types.is_duration(plan.type) and seconds < 0 and micros:
        # The nanos of a duration have the sign of its seconds.
        seconds, micros = seconds + 1, micros - 1_000_000
    return seconds, micros * 1_000


def _unsigned(plan: Unsigned, value: int) -> int:
    return value if value >= 0 else value + (1 << plan.bits)


def _number_of(plan: Enum, value: str) -> int:
    number = plan.numbers.get(value)
    if number is None:
        raise PayloadError("", f"there is no symbol {value!r}; there are {', '.join(plan.numbers)}")
    return number


def _same(_plan: ValuePlan, value: Any) -> Any:
    return value


_CONVERTERS: Final[Mapping[type[ValuePlan], Callable[[Any, Any], Any]]] = {
    Scalar: _same,
    Unsigned: _unsigned,
    Enum: _number_of,
}


def _as_numbers(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(data_type):
        return pa.struct([_field(each) for each in data_type])
    if pa.types.is_list(data_type):
        return pa.list_(_field(data_type.value_field))
    if pa.types.is_map(data_type):
        return pa.map_(data_type.key_type, _field(data_type.item_field))
    if pa.types.is_timestamp(data_type) or pa.types.is_duration(data_type):
        return pa.int64()
    return data_type


def _field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _as_numbers(field.type), field.nullable)
