"""The class of protobuf's runtime that parses and writes the wanted part of a message.

The class is not made from the schema itself: there a field named `HasField`, `Clear` or `_fields`
would hide a method of the class, or be hidden by it. It is made from one file with other names and
the same numbers, types and features, for the fields of a plan. The runtime skips other fields by
their lengths, as a scan does, and so what is not wanted can be nested without end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from kafka_formats.errors import ITEMS, VALUES, path_of
from kafka_formats.protobuf.layout import NUMBERS
from kafka_formats.protobuf.plan import MessagePlan, ValuePlan, attribute_of
from kafka_formats.protobuf.types import is_map

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, EnumDescriptor, FileDescriptor
    from google.protobuf.message import Message

# The fields of a message, each with the plan of its values; None for a field that is not wanted.
_Fields: TypeAlias = "Mapping[FieldDescriptor, ValuePlan | None]"

_OPTIONAL: Final = FieldDescriptorProto.LABEL_OPTIONAL
_REPEATED: Final = FieldDescriptorProto.LABEL_REPEATED
# These types are read without a look at their bytes.
_UNWANTED_TYPES: Final = {
    FieldDescriptor.TYPE_STRING: FieldDescriptorProto.TYPE_BYTES,
    FieldDescriptor.TYPE_MESSAGE: FieldDescriptorProto.TYPE_BYTES,
}


def message_class(message: Descriptor, plan: MessagePlan) -> type[Message]:
    """The class of a message with the fields of a plan, which have the names in the plan."""
    file = FileDescriptorProto(name="wanted.proto", syntax="editions", edition=Edition.EDITION_2023)
    name = _add_message(file, _fields_of(message, plan))
    pool = DescriptorPool()
    pool.Add(file)
    parsed: type[Message] = GetMessageClass(pool.FindMessageTypeByName(name))
    return parsed


def missing(plan: MessagePlan, message: Any) -> list[str]:
    """The paths of the required fields that a parsed message lacks."""
    return [*dict.fromkeys(_missing(plan, message, ""))]


def _missing(plan: MessagePlan, message: Any, path: str) -> Iterator[str]:
    for name, attribute in plan.required.items():
        if not message.HasField(attribute):
            yield path_of(path, name)
    for member in plan.members:
        if isinstance(member.plan, MessagePlan):
            value, inner = getattr(message, member.attribute), path_of(path, member.name)
            if member.keys is not None:
                values, inner = value.values(), inner + VALUES
            elif member.is_list:
                values, inner = value, inner + ITEMS
            else:
                values = [value] if message.HasField(member.attribute) else []
            for each in values:
                yield from _missing(member.plan, each, inner)


def _fields_of(message: Descriptor, plan: ValuePlan) -> _Fields:
    """The wanted fields, the required ones, and the other fields of a wanted field's oneof."""
    known = message.fields_by_name
    if not isinstance(plan, MessagePlan):
        return dict.fromkeys(message.fields)
    wanted = {known[each.name]: each.plan for each in plan.members}
    others = [known[name] for name in plan.required]
    others += [each for field in wanted for each in _beside(field)]
    return dict.fromkeys(others) | wanted


def _beside(field: FieldDescriptor) -> list[FieldDescriptor]:
    """The fields of the same oneof."""
    oneof = field.containing_oneof
    return [] if oneof is None else [*oneof.fields]


def _add_message(file: FileDescriptorProto, fields: _Fields) -> str:
    """Add a message; returns its name."""
    proto = file.message_type.add(name=f"M{len(file.message_type)}")
    _add_fields(file, proto, fields)
    return str(proto.name)


def _add_fields(file: FileDescriptorProto, proto: DescriptorProto, fields: _Fields) -> None:
    oneofs: dict[str, int] = {}
    for field, plan in fields.items():
        new = proto.field.add(name=attribute_of(field), number=field.number)
        new.label = _REPEATED if field.is_repeated else _OPTIONAL
        if len(_beside(field)) > 1:
            name = field.containing_oneof.name
            new.oneof_index = oneofs.setdefault(name, len(oneofs))
        else:
            _set_features(new.options.features, field)
        if plan is not None and is_map(field):
            new.type_name = _add_entry(file, proto, field, plan)
        else:
            _set_type(file, new, field, plan)
    for number in oneofs.values():
        proto.oneof_decl.add(name=f"o{number}")


def _set_features(features: FeatureSet, field: FieldDescriptor) -> None:
    if field.is_packed:
        features.repeated_field_encoding = FeatureSet.PACKED
    elif field.is_repeated:
        if field.type in NUMBERS:
            features.repeated_field_encoding = FeatureSet.EXPANDED
    elif field.is_required:
        features.field_presence = FeatureSet.LEGACY_REQUIRED
    elif not field.has_presence:
        features.field_presence = FeatureSet.IMPLICIT


def _set_type(
    file: FileDescriptorProto,
    new: FieldDescriptorProto,
    field: FieldDescriptor,
    plan: ValuePlan | None,
) -> None:
    new.type = field.type
    if field.type == FieldDescriptor.TYPE_STRING and not _is_checked(field):
        new.options.features.utf8_validation = FeatureSet.NONE
    if field.type == FieldDescriptor.TYPE_GROUP:
        new.type = FieldDescriptorProto.TYPE_MESSAGE
        new.options.features.message_encoding = FeatureSet.DELIMITED
        fields = {} if plan is None else _fields_of(field.message_type, plan)
        new.type_name = _add_message(file, fields)
    elif plan is None:
        new.type = _UNWANTED_TYPES.get(field.type, field.type)
    elif field.message_type is not None:
        new.type_name = _add_message(file, _fields_of(field.message_type, plan))
    if field.enum_type is not None:
        _set_enum(file, new, field.enum_type)


def _add_entry(
    file: FileDescriptorProto, proto: DescriptorProto, field: FieldDescriptor, plan: ValuePlan
) -> str:
    """Add the message of the entries of a map; returns its name."""
    nested = proto.nested_type.add(name=f"F{field.number}Entry")
    nested.options.map_entry = True
    for name in ("key", "value"):
        known = field.message_type.fields_by_name[name]
        new = nested.field.add(name=name, number=known.number, label=_OPTIONAL)
        _set_type(file, new, known, plan)
    return f"{proto.name}.{nested.name}"


def _is_checked(field: FieldDescriptor) -> bool:
    """Whether each text of a field has to be UTF-8, also one that another one replaces."""
    checks = _checks_of(field.file)
    return checks.get(field.full_name, checks[""])


@lru_cache(maxsize=200)
def _checks_of(file: FileDescriptor) -> Mapping[str, bool]:
    """Full name -> whether a field's texts are checked as UTF-8; "" is for all other fields."""
    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    checks = {"": _checked(proto.options.features, proto.syntax in {"proto3", "editions"})}
    waiting = [(proto.package, each) for each in proto.message_type]
    while waiting:
        scope, message = waiting.pop()
        scope = f"{scope}.{message.name}" if scope else message.name
        waiting += [(scope, each) for each in message.nested_type]
        for each in message.field:
            checks[f"{scope}.{each.name}"] = _checked(each.options.features, checks[""])
    return checks


def _checked(features: FeatureSet, otherwise: bool) -> bool:
    if not features.HasField("utf8_validation"):
        return otherwise
    return bool(features.utf8_validation == FeatureSet.VERIFY)


def _set_enum(file: FileDescriptorProto, new: FieldDescriptorProto, enum: EnumDescriptor) -> None:
    """An open enum is a number; a closed one does not have other numbers."""
    if not enum.is_closed:
        new.type = FieldDescriptorProto.TYPE_INT32
        return
    proto = file.enum_type.add(name=f"E{len(file.enum_type)}")
    proto.options.features.enum_type = FeatureSet.CLOSED
    for place, number in enumerate(dict.fromkeys(each.number for each in enum.values)):
        proto.value.add(name=f"{proto.name}_{place}", number=number)
    new.type_name = proto.name
