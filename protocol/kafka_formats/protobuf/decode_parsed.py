"""Parsed messages -> Arrow arrays, a field of all messages at a time.

Source: values are as from Spark's `ProtobufDeserializer` with `emit.default.values`, and as from
Confluent's `ProtobufData.toConnectData`. A field that is not in a payload is null if it has
explicit presence; else it has its default, as Protobuf says ("Field Presence").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_formats.errors import PayloadError
from kafka_formats.protobuf.decimals import decimals_of, misfit
from kafka_formats.protobuf.decode import list_of, map_of, struct_of
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
from kafka_protocol.columnar.arrays.arrow_memory import array_of

_MAX_LONG: Final = 2**63


def decode_parsed(plan: ValuePlan, values: Sequence[Any]) -> pa.Array:
    """The array of some messages; None for null.

    Raises:
        PayloadError: A time is beyond the range of its type. Names the field.
    """
    return _DECODE[type(plan)](plan, values)


def _scalars(plan: Scalar, values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values, plan.type)
    except pa.ArrowInvalid as error:
        # Only texts have values that Arrow does not take: texts of proto2 may be any bytes.
        raise PayloadError("", "a text is not UTF-8") from error


def _unsigned(plan: Unsigned, values: Sequence[Any]) -> pa.Array:
    half, whole = 1 << (plan.bits - 1), 1 << plan.bits
    signed = [each if each is None or each < half else each - whole for each in values]
    return pa.array(signed, plan.type)


def _enums(plan: Enum, values: Sequence[Any]) -> pa.Array:
    names = plan.names
    known = {each: names.get(each, f"{plan.unknown}{each}") for each in {*values} - {None}}
    return pa.array([known.get(each) for each in values], plan.type)


def _times(plan: Time, values: Sequence[Any]) -> pa.Array:
    parts = attrgetter(*plan.parts)
    micros = [None if each is None else _micros(*parts(each)) for each in values]
    return pa.array(micros, pa.int64()).view(plan.type)


def _micros(seconds: int, nanos: int) -> int:
    # Towards zero, as Java's TimeUnit.
    micros = seconds * 1_000_000 + int(nanos / 1_000)
    if not -_MAX_LONG <= micros < _MAX_LONG:
        raise PayloadError("", f"{seconds} seconds are out of range")
    return micros


def _decimals(plan: Decimal, values: Sequence[Any]) -> pa.Array:
    value, _, scale = plan.parts
    parts = attrgetter(value, scale)
    given = [None if each is None else parts(each) for each in values]
    decimals, is_wrong = decimals_of(plan.type, given)
    for each, is_misfit in zip(given, is_wrong, strict=True):
        if each is not None and is_misfit:
            raise misfit(plan.type, *each)
    return decimals


def _structs(plan: MessagePlan, values: Sequence[Any]) -> pa.Array:
    given = [each for each in values if each is not None]
    arrays = [_named(member, given) for member in plan.members]
    structs = struct_of(plan, arrays)
    if len(given) == len(values):
        return structs
    is_given = np.array([each is not None for each in values])
    return structs.take(array_of(np.cumsum(is_given) - 1, pa.int64(), ~is_given))


def _named(member: FieldPlan, messages: Sequence[Any]) -> pa.Array:
    try:
        return _member(member, messages)
    except PayloadError as error:
        raise error.within(member.name) from error


def _member(member: FieldPlan, messages: Sequence[Any]) -> pa.Array:
    name = member.attribute
    if member.is_list or member.keys is not None:
        return _containers(member, [getattr(each, name) for each in messages])
    if not member.has_presence:
        return decode_parsed(member.plan, [getattr(each, name) for each in messages])
    default = member.default
    return decode_parsed(
        member.plan,
        [getattr(each, name) if each.HasField(name) else default for each in messages],
    )


def _containers(member: FieldPlan, values: Sequence[Any]) -> pa.Array:
    offsets = array_of(np.cumsum([0, *map(len, values)]), pa.int32())
    if member.keys is None:
        return list_of(
            member, offsets, decode_parsed(member.plan, list(chain.from_iterable(values)))
        )
    keys = decode_parsed(member.keys, list(chain.from_iterable(values)))
    items = decode_parsed(member.plan, [each[key] for each in values for key in each])
    return map_of(member, offsets, keys, items)


_DECODE: Final[Mapping[type[ValuePlan], Callable[[Any, Sequence[Any]], pa.Array]]] = {
    Scalar: _scalars,
    Unsigned: _unsigned,
    Enum: _enums,
    Time: _times,
    Decimal: _decimals,
    MessagePlan: _structs,
}
