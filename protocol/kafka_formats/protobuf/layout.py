"""Where the wanted fields of a message are in its bytes, for a scan of many payloads.

Source: Protocol Buffers, "Encoding".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor

from kafka_formats.protobuf.plan import Decimal, Enum, MessagePlan, Scalar, Time, ValuePlan
from kafka_formats.protobuf.types import is_map

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

# Wire types.
VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5

# The wire types of numbers, by the types of fields.
NUMBERS: Final[Mapping[int, int]] = {
    FieldDescriptor.TYPE_INT32: VARINT,
    FieldDescriptor.TYPE_INT64: VARINT,
    FieldDescriptor.TYPE_UINT32: VARINT,
    FieldDescriptor.TYPE_UINT64: VARINT,
    FieldDescriptor.TYPE_SINT32: VARINT,
    FieldDescriptor.TYPE_SINT64: VARINT,
    FieldDescriptor.TYPE_BOOL: VARINT,
    FieldDescriptor.TYPE_ENUM: VARINT,
    FieldDescriptor.TYPE_FIXED64: FIXED64,
    FieldDescriptor.TYPE_SFIXED64: FIXED64,
    FieldDescriptor.TYPE_DOUBLE: FIXED64,
    FieldDescriptor.TYPE_FIXED32: FIXED32,
    FieldDescriptor.TYPE_SFIXED32: FIXED32,
    FieldDescriptor.TYPE_FLOAT: FIXED32,
}

# The bits that precede a value: the number of its field, and its wire type.
Tag: TypeAlias = int


def tag_of(number: int, wire_type: int) -> Tag:
    """The tag before a value of a field."""
    return number << 3 | wire_type


@dataclass(frozen=True, slots=True)
class Leaf:
    """A wanted field of numbers, texts or bytes.

    Attributes:
        kind: The type of its values: `FieldDescriptor.TYPE_...`.
        plan: For one value.
    """

    kind: int
    plan: ValuePlan

    @property
    def is_number(self) -> bool:
        """Whether its values have no length."""
        return self.kind in NUMBERS


@dataclass(frozen=True, slots=True)
class Inner:
    """A wanted field of messages: structs, times, or the entries of a map.

    Attributes:
        plan: For one value.
        layout: The layout of the message; for an entry, of its key and its value.
    """

    plan: ValuePlan
    layout: Layout


Field: TypeAlias = Leaf | Inner


@dataclass(frozen=True, slots=True)
class Layout:
    """A message.

    Attributes:
        fields: The wanted ones: for a struct as its members, for an entry of a map its key and its
            value, for a time its seconds and its nanos.
        places: Tag -> the place in `fields`. A repeated number has two tags.
        numbers: The numbers of the wanted fields.
        oneofs: Number of a field -> its oneof, for each oneof with a wanted field.
        is_entry: Whether it is an entry of a map: with an unknown field it is not an entry.
    """

    fields: tuple[Field, ...]
    places: Mapping[Tag, int]
    numbers: frozenset[int]
    oneofs: Mapping[int, str]
    is_entry: bool


def layout_for(message: Descriptor, plan: MessagePlan) -> Layout | None:
    """The layout of the wanted part of a message.

    None with features of proto2 only, where a scan would have to know more: required fields,
    defaults, groups, and enums whose unknown numbers are unknown fields.
    """
    if plan.required or any(each.default is not None for each in plan.members):
        return None
    known = message.fields_by_name
    fields = [
        (known[each.name], _field(known[each.name], each.plan, each.keys)) for each in plan.members
    ]
    return _layout(message, fields)


def _layout(
    message: Descriptor, wanted: list[tuple[FieldDescriptor, Field | None]]
) -> Layout | None:
    fields = [field for _, field in wanted if field is not None]
    if len(fields) < len(wanted):
        return None
    numbers = frozenset(each.number for each, _ in wanted)
    oneofs = {
        each.number: oneof.name
        for oneof in message.oneofs
        if len(oneof.fields) > 1 and any(each.number in numbers for each in oneof.fields)
        for each in oneof.fields
    }
    places = {tag: place for place, (each, _) in enumerate(wanted) for tag in _tags(each)}
    is_entry = bool(message.GetOptions().map_entry)
    return Layout(tuple(fields), places, numbers, oneofs, is_entry)


def _tags(field: FieldDescriptor) -> list[Tag]:
    wire_type = NUMBERS.get(field.type, BYTES)
    wire_types = {wire_type, BYTES} if field.is_repeated else {wire_type}
    return [tag_of(field.number, each) for each in wire_types]


def _field(field: FieldDescriptor, plan: ValuePlan, keys: ValuePlan | None = None) -> Field | None:
    """A field; None if a scan cannot read it."""
    if field.type == FieldDescriptor.TYPE_GROUP:
        return None
    message = field.message_type
    if message is None:
        is_closed = isinstance(plan, Enum) and field.enum_type.is_closed
        return None if is_closed else Leaf(field.type, plan)
    if keys is not None and is_map(field):
        key, value = (message.fields_by_name[name] for name in ("key", "value"))
        layout = _layout(message, [(key, _field(key, keys)), (value, _field(value, plan))])
    elif isinstance(plan, MessagePlan):
        layout = layout_for(message, plan)
    else:
        layout = _layout_of_parts(message, _PARTS[type(plan)])
    return None if layout is None else Inner(plan, layout)


# The fields of messages that are one value, with the types that they have at Google and Confluent.
_PARTS: Final[Mapping[type[ValuePlan], Mapping[str, tuple[int, pa.DataType]]]] = {
    Time: {
        "seconds": (FieldDescriptor.TYPE_INT64, pa.int64()),
        "nanos": (FieldDescriptor.TYPE_INT32, pa.int32()),
    },
    Decimal: {
        "value": (FieldDescriptor.TYPE_BYTES, pa.binary()),
        "scale": (FieldDescriptor.TYPE_INT32, pa.int32()),
    },
}


def _layout_of_parts(
    message: Descriptor, parts: Mapping[str, tuple[int, pa.DataType]]
) -> Layout | None:
    fields = [message.fields_by_name[name] for name in parts]
    is_proto2 = any(
        each.is_repeated or each.is_required or each.has_default_value for each in message.fields
    )
    if is_proto2 or [each.type for each in fields] != [kind for kind, _ in parts.values()]:
        return None
    types = [to for _, to in parts.values()]
    return _layout(
        message,
        [(each, _field(each, Scalar(to))) for each, to in zip(fields, types, strict=True)],
    )
