"""Decodes the messages of many payloads at once, field by field, to the values of `decode_parsed`.

Unusual and damaged messages are only marked here; the protobuf runtime parses them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor

from kafka_formats.arrow.arrays import in_rows, texts_of
from kafka_formats.arrow.bytes_cursor import Bools, Cursor, Longs, mask_of
from kafka_formats.protobuf.decimals import decimals_of
from kafka_formats.protobuf.field_values import FieldValues, Raw, items_of, last_of
from kafka_formats.protobuf.layout import Field, Inner, Layout, Leaf
from kafka_formats.protobuf.plan import Decimal, Enum, FieldPlan, MessagePlan
from kafka_formats.protobuf.scan import locate
from kafka_protocol.columnar.arrays.arrow_memory import array_of, array_of_bytes, numbers_of
from kafka_protocol.columnar.arrays.slices import take_slices

# So many seconds are surely fewer than 2^63 microseconds.
_MAX_SECONDS: Final = 2**63 // 10**6 - 10_000


def read(plan: MessagePlan, layout: Layout, cursor: Cursor) -> pa.StructArray:
    """The message of each slot; any value where the slot is marked as broken."""
    begin = cursor.at
    all_pieces = locate(layout, cursor)
    return struct_of(
        plan,
        [
            _member(member, field, pieces, begin, cursor)
            for member, field, pieces in zip(plan.members, layout.fields, all_pieces, strict=True)
        ],
    )


def _member(
    member: FieldPlan, field: Field, pieces: Sequence[FieldValues], begin: Longs, cursor: Cursor
) -> pa.Array:
    if member.is_list or member.keys is not None:
        return _container(member, field, items_of(field, pieces, cursor), cursor)
    values, is_given = last_of(field, pieces, begin, cursor)
    if isinstance(field, Inner):
        if is_given.all():
            return _messages(field, values, cursor)
        messages = _messages(field, values.of(np.flatnonzero(is_given)), cursor)
        return in_rows(is_given, messages)
    # Without presence an absent field is its default, which `values` has.
    is_null = ~is_given & member.has_presence
    return _leaves(field, values, is_null, cursor)


def _container(member: FieldPlan, field: Field, items: FieldValues, cursor: Cursor) -> pa.Array:
    """Lists or maps."""
    counts = np.bincount(items.slots, minlength=len(cursor))
    offsets = array_of(np.cumsum([0, *counts]), pa.int32())
    if member.keys is None:
        return list_of(member, offsets, _dense(field, items, cursor))
    return map_of(member, offsets, *_entries(field, items, cursor))


def _dense(field: Field, values: FieldValues, cursor: Cursor) -> pa.Array:
    """The array of values, without nulls."""
    if isinstance(field, Inner):
        return _messages(field, values, cursor)
    return _leaves(field, values, np.zeros(len(values.slots), dtype=np.bool_), cursor)


# --- Messages within messages --------------------------------------------------------------------


def _messages(field: Inner, values: FieldValues, cursor: Cursor) -> pa.Array:
    inner = _cursor_of(values, cursor)
    if isinstance(field.plan, MessagePlan):
        messages = read(field.plan, field.layout, inner)
    elif isinstance(field.plan, Decimal):
        messages = _decimals(field, inner)
    else:
        messages = _times(field, inner)
    _fail_owners(values, inner, cursor)
    return messages


def _entries(field: Field, values: FieldValues, cursor: Cursor) -> tuple[pa.Array, pa.Array]:
    """The keys and the values of entries of maps; an absent one is zero."""
    inner = _cursor_of(values, cursor)
    keys, items = (
        _dense(each, its_values, inner)
        for each, its_values in _both(cast("Inner", field).layout, inner)
    )
    inner.fail(_is_repeated(values.slots, keys))
    _fail_owners(values, inner, cursor)
    return keys, items


def _times(field: Inner, cursor: Cursor) -> pa.Array:
    seconds, nanos = (
        _NUMBERS[cast("Leaf", each).kind](values.raw)
        for each, values in _both(field.layout, cursor)
    )
    is_far = (seconds > _MAX_SECONDS) | (seconds < -_MAX_SECONDS)
    cursor.fail(is_far)
    # Towards zero, as Java's TimeUnit.
    micros = np.where(is_far, 0, seconds) * 1_000_000 + np.trunc(nanos / 1_000).astype(np.int64)
    return array_of(micros, field.plan.type)


def _decimals(field: Inner, cursor: Cursor) -> pa.Array:
    (_, (_, raw, lengths)), (_, scales) = _both(field.layout, cursor)
    slices = take_slices(cursor.data.data, raw, lengths).to_pylist()
    given = [*zip(slices, _low(scales.raw).view(np.int32).tolist(), strict=True)]
    values, is_wrong = decimals_of(field.plan.type, given)
    cursor.fail(is_wrong)
    return values


def _both(layout: Layout, cursor: Cursor) -> list[tuple[Field, FieldValues]]:
    """The values of the two fields of a message, zero where one is absent."""
    begin = cursor.at
    all_pieces = locate(layout, cursor)
    return [
        (field, last_of(field, pieces, begin, cursor)[0])
        for field, pieces in zip(layout.fields, all_pieces, strict=True)
    ]


def _cursor_of(values: FieldValues, cursor: Cursor) -> Cursor:
    is_broken = np.zeros(len(values.slots), dtype=np.bool_)
    return Cursor(cursor.data, values.raw, values.raw + values.lengths, is_broken)


def _fail_owners(values: FieldValues, inner: Cursor, cursor: Cursor) -> None:
    """Mark the messages with an inner one that is marked."""
    if inner.is_broken.any():
        cursor.fail(mask_of(len(cursor), values.slots[inner.is_broken]))


def _is_repeated(slots: Longs, keys: pa.Array) -> Bools:
    """Whether an entry has the key of another one of its map, of which the last counts."""
    if not (slots[1:] == slots[:-1]).any():
        return np.zeros(len(slots), dtype=np.bool_)
    codes = numbers_of(keys.dictionary_encode().indices).astype(np.int64)
    entries = slots * len(slots) + codes
    _, inverse, counts = np.unique(entries, return_inverse=True, return_counts=True)
    is_repeated: Bools = counts[inverse] > 1
    return is_repeated


# --- Numbers, texts and bytes --------------------------------------------------------------------


def _leaves(field: Leaf, values: FieldValues, is_null: Bools, cursor: Cursor) -> pa.Array:
    if field.is_number:
        numbers = _NUMBERS[field.kind](values.raw)
        if isinstance(field.plan, Enum):
            return _names(field.plan, numbers, is_null)
        return array_of(numbers, field.plan.type, is_null if is_null.any() else None)
    lengths = np.where(is_null, -1, values.lengths)
    slices = take_slices(cursor.data.data, values.raw, lengths)
    if field.kind == FieldDescriptor.TYPE_BYTES:
        return slices
    texts, is_broken = texts_of(slices)
    if is_broken.any():
        cursor.fail(mask_of(len(cursor), values.slots[is_broken]))
    return texts


def _names(plan: Enum, numbers: Raw, is_null: Bools) -> pa.Array:
    known = sorted(plan.names)
    names = [plan.names[each] for each in known]
    places = np.searchsorted(known, numbers)
    unknown = np.array([*known, 0])[places] != numbers
    unknown |= places == len(known)
    if unknown.any():
        others, inverse = np.unique(numbers[unknown], return_inverse=True)
        places[unknown] = len(names) + inverse
        names += [f"{plan.unknown}{each}" for each in others.tolist()]
    symbols = array_of_bytes([*map(str.encode, names)], plan.type)
    return symbols.take(array_of(places, pa.int64(), is_null))


def _low(raw: Raw) -> Raw:
    return raw.astype(np.uint32)


def _zigzag(raw: Raw) -> Raw:
    one = raw.dtype.type(1)
    decoded: Raw = (raw >> one) ^ -(raw & one)
    return decoded


# Bits -> numbers, by the types of fields. Only the low bits of a varint of 32 bits count.
_NUMBERS: Final[Mapping[int, Callable[[Raw], Raw]]] = {
    FieldDescriptor.TYPE_INT32: lambda raw: _low(raw).view(np.int32),
    FieldDescriptor.TYPE_INT64: lambda raw: raw.view(np.int64),
    FieldDescriptor.TYPE_UINT32: lambda raw: _low(raw).view(np.int32),
    FieldDescriptor.TYPE_UINT64: lambda raw: raw.view(np.int64),
    FieldDescriptor.TYPE_SINT32: lambda raw: _zigzag(_low(raw)).view(np.int32),
    FieldDescriptor.TYPE_SINT64: lambda raw: _zigzag(raw).view(np.int64),
    FieldDescriptor.TYPE_BOOL: lambda raw: raw != 0,
    FieldDescriptor.TYPE_ENUM: lambda raw: _low(raw).view(np.int32),
    FieldDescriptor.TYPE_FIXED64: lambda raw: raw.view(np.int64),
    FieldDescriptor.TYPE_SFIXED64: lambda raw: raw.view(np.int64),
    FieldDescriptor.TYPE_DOUBLE: lambda raw: raw.view(np.float64),
    FieldDescriptor.TYPE_FIXED32: lambda raw: raw.view(np.int32),
    FieldDescriptor.TYPE_SFIXED32: lambda raw: raw.view(np.int32),
    FieldDescriptor.TYPE_FLOAT: lambda raw: raw.view(np.float32),
}


# --- Arrays of parts -> arrays of structs, lists and maps ----------------------------------------


def struct_of(plan: MessagePlan, members: Sequence[pa.Array]) -> pa.StructArray:
    """Structs without nulls."""
    fields = [
        pa.field(member.name, array.type, member.nullable)
        for member, array in zip(plan.members, members, strict=True)
    ]
    return pa.StructArray.from_arrays(members, fields=fields)


def list_of(member: FieldPlan, offsets: pa.Array, items: pa.Array) -> pa.ListArray:
    """Lists without nulls; `offsets` as Arrow has them."""
    field = pa.field("element", items.type, member.type.value_field.nullable)
    return pa.ListArray.from_arrays(offsets, items, pa.list_(field))


def map_of(member: FieldPlan, offsets: pa.Array, keys: pa.Array, items: pa.Array) -> pa.MapArray:
    """Maps without nulls."""
    field = pa.field("value", items.type, member.type.item_field.nullable)
    return pa.MapArray.from_arrays(offsets, keys, items, pa.map_(keys.type, field))
