"""The values of a newer message that an older one cannot hold: payloads are read as the older one.

The runtime finds fields by their numbers and refuses nothing: a larger number is cut, a new symbol
has no name, and a field with another number is absent.

Source: Protocol Buffers, "Updating A Message Type" and "Field Presence".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor

from kafka_formats.errors import ITEMS, VALUES, path_of
from kafka_formats.payload.type_changes import Loss
from kafka_formats.protobuf.decimals import is_decimal, told_by
from kafka_formats.protobuf.plan import Decimal, FieldPlan, MessagePlan
from kafka_formats.protobuf.types import is_map, scalar_type, time_type

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

# Written types, and the others that have all of their values and are written alike.
_WIDER: Final = frozenset(
    {
        (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64),
        (FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SINT64),
        (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES),
    }
)


def losses(
    written: Descriptor, read: Descriptor, plan: MessagePlan, path: str = ""
) -> Iterator[Loss]:
    """The wanted fields whose values are lost or altered if payloads are read with another schema.

    Args:
        written: The message that payloads were written as.
        read: The message that they are read as.
        plan: The wanted fields of `read`.
        path: The path of the field that has the messages; empty for the whole payload.
    """
    for name in plan.required:
        if not (name in written.fields_by_name and written.fields_by_name[name].is_required):
            yield Loss(path_of(path, name), "is not required any more")
    for member in plan.members:
        inner = path_of(path, member.name)
        old = read.fields_by_name[member.name]
        new = written.fields_by_number.get(old.number)
        if new is not None and new.name == old.name:
            yield from _of_field(new, old, member, inner)
        elif member.name in written.fields_by_name:
            number = written.fields_by_name[member.name].number
            yield Loss(inner, f"has the number {number}, not {old.number}")
        elif new is not None:
            yield Loss(inner, f"has the name {new.name}")


def _of_field(
    new: FieldDescriptor, old: FieldDescriptor, member: FieldPlan, path: str
) -> Iterator[Loss]:
    if (is_map(new), new.is_repeated) != (is_map(old), old.is_repeated):
        yield Loss(path, f"is {_kind(new)}, not {_kind(old)}")
    elif is_map(old):
        (new_key, new_value), (old_key, old_value) = _entry(new), _entry(old)
        yield from _of_types(new_key, old_key, path)
        yield from _of_values(new_value, old_value, member, path_of(path, VALUES), new)
    elif old.is_repeated:
        yield from _of_values(new, old, member, path_of(path, ITEMS), new)
    else:
        yield from _of_presence(new, old, path)
        yield from _of_values(new, old, member, path, new)


def _kind(field: FieldDescriptor) -> str:
    return "a map" if is_map(field) else "repeated" if field.is_repeated else "one value"


def _entry(field: FieldDescriptor) -> tuple[FieldDescriptor, FieldDescriptor]:
    fields = field.message_type.fields_by_name
    return fields["key"], fields["value"]


def _of_presence(new: FieldDescriptor, old: FieldDescriptor, path: str) -> Iterator[Loss]:
    if new.has_presence and not old.has_presence:
        yield Loss(path, "may be absent, and would be read as its default")
    elif old.has_presence and not new.has_presence:
        yield Loss(path, "is not written if it is its default, and would be read as null")
    elif _default_of(new) != _default_of(old):
        yield Loss(path, "has another default")
    beside = _oneof_numbers(old)
    lost = beside - _oneof_numbers(new) if beside else set()
    if lost & {*new.containing_type.fields_by_number}:
        yield Loss(path, "may be there beside other fields of its oneof")


def _default_of(field: FieldDescriptor) -> str | None:
    """The default that an absent field with presence shows; NaN is a default, too."""
    return repr(field.default_value) if field.has_presence and field.has_default_value else None


def _oneof_numbers(field: FieldDescriptor) -> set[int]:
    """The numbers of the fields of the same oneof; empty if it is alone."""
    oneof = field.containing_oneof
    numbers = set() if oneof is None else {each.number for each in oneof.fields}
    return numbers if len(numbers) > 1 else set()


def _of_values(
    new: FieldDescriptor,
    old: FieldDescriptor,
    member: FieldPlan,
    path: str,
    owner: FieldDescriptor,
) -> Iterator[Loss]:
    """The losses of a single value; `owner` is its field, or the map field that has the value."""
    if (type_losses := [*_of_types(new, old, path)]) or new.message_type is None:
        yield from type_losses
    elif time_type(new.message_type) != time_type(old.message_type):
        yield Loss(path, f"is {new.message_type.full_name}, not {old.message_type.full_name}")
    elif isinstance(member.plan, Decimal):
        yield from _of_decimals(new, member.plan, path, owner)
    elif isinstance(member.plan, MessagePlan):
        yield from losses(new.message_type, old.message_type, member.plan, path)


def _of_types(new: FieldDescriptor, old: FieldDescriptor, path: str) -> Iterator[Loss]:
    if new.type != old.type and (new.type, old.type) not in _WIDER:
        if new.message_type is None and old.message_type is None:
            written, read = scalar_type(new), scalar_type(old)
            if written != read:
                yield Loss(path, written=written, read=read)
                return
        yield Loss(path, "has another type of Protobuf")
    elif new.enum_type is not None:
        known = {each.number: each.name for each in reversed(old.enum_type.values)}
        symbols = [each.name for each in new.enum_type.values if each.number not in known]
        numbers = {each.name: each.number for each in old.enum_type.values}
        renamed = [
            each.name
            for each in new.enum_type.values
            if each.number in known and numbers.get(each.name) != each.number
        ]
        if symbols or renamed:
            word = "symbol" if len(symbols + renamed) == 1 else "symbols"
            yield Loss(path, f"has the new {word} {', '.join(symbols + renamed)}")
        elif old.enum_type.is_closed and not new.enum_type.is_closed:
            yield Loss(path, "may be a number without a symbol")


def _of_decimals(
    new: FieldDescriptor, plan: Decimal, path: str, owner: FieldDescriptor
) -> Iterator[Loss]:
    if not is_decimal(new.message_type):
        yield Loss(path, f"is {new.message_type.full_name}, and no decimal")
    told = told_by(new, owner)
    if told is None or told == plan.declared or not pa.types.is_decimal128(plan.type):
        return
    before = plan.type.precision - plan.type.scale
    if told.scale > plan.type.scale or told.precision - told.scale > before:
        shown = f"decimal({plan.type.precision}, {plan.type.scale})"
        yield Loss(path, f"is decimal({told.precision}, {told.scale}), not {shown}")
