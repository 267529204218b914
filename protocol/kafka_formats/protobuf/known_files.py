"""Files that registries have without a registration: Confluent's and Apicurio's.

Schemas import them without a reference. The definitions follow the field numbers that Confluent and
Apicurio document. The files of Google are modules of protobuf and googleapis-common-protos instead.

Source: `KNOWN_DEPENDENCIES` in Confluent's `ProtobufSchema`; `ProtobufWellKnownTypes` in Apicurio's
registry, whose files the converters of AWS Glue import, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

_STRING: Final = FieldDescriptorProto.TYPE_STRING
_BYTES: Final = FieldDescriptorProto.TYPE_BYTES
_INT32: Final = FieldDescriptorProto.TYPE_INT32
_INT64: Final = FieldDescriptorProto.TYPE_INT64
_UINT32: Final = FieldDescriptorProto.TYPE_UINT32
_ONE: Final = FieldDescriptorProto.LABEL_OPTIONAL
_MANY: Final = FieldDescriptorProto.LABEL_REPEATED

_OPTIONS: Final = "google/protobuf/descriptor.proto"
_DECIMAL: Final = "confluent/type/decimal.proto"
# The number of `confluent.Meta` among the options of a file, a message, a field, ...
META_NUMBER: Final = 1088
_META_OF: Final = {
    "file_meta": "FileOptions",
    "message_meta": "MessageOptions",
    "field_meta": "FieldOptions",
    "enum_meta": "EnumOptions",
    "enum_value_meta": "EnumValueOptions",
}


def _file(name: str, package: str, **parts: Any) -> FileDescriptorProto:
    return FileDescriptorProto(name=name, package=package, syntax="proto3", **parts)


def _message(name: str, /, **types: int | str) -> dict[str, Any]:
    """A message of fields with ascending numbers; the type of a repeated one is its full name."""
    return {
        "name": name,
        "field": [
            {"name": field, "number": number, "label": _MANY, "type_name": each}
            if isinstance(each, str)
            else {"name": field, "number": number, "label": _ONE, "type": each}
            for number, (field, each) in enumerate(types.items(), 1)
        ],
    }


def _meta() -> dict[str, Any]:
    entry = _message("ParamsEntry", key=_STRING, value=_STRING) | {"options": {"map_entry": True}}
    meta = _message("Meta", doc=_STRING, params=".confluent.Meta.ParamsEntry", tags=_STRING)
    meta["field"][2]["label"] = _MANY
    meta["field"].append(
        {"name": "rules", "number": 4, "label": _MANY, "type_name": ".confluent.Rule"}
    )
    return meta | {"nested_type": [entry]}


def _meta_extensions() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "number": META_NUMBER,
            "label": _ONE,
            "type_name": ".confluent.Meta",
            "extendee": f".google.protobuf.{options}",
        }
        for name, options in _META_OF.items()
    ]


def _metadata_extensions() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "number": number,
            "label": _ONE,
            "type": _STRING,
            "extendee": ".google.protobuf.FieldOptions",
        }
        for name, number in (("metadata_key", 50001), ("metadata_value", 50002))
    ]


_RULE: Final = _message("Rule", name=_STRING, doc=_STRING, expr=_STRING, sql=_STRING)
_CONFLUENT: Final = (
    _file(
        "confluent/meta.proto",
        "confluent",
        dependency=[_OPTIONS],
        message_type=[_meta(), _RULE],
        extension=_meta_extensions(),
    ),
    _file(
        _DECIMAL,
        "confluent.type",
        message_type=[_message("Decimal", value=_BYTES, precision=_UINT32, scale=_INT32)],
    ),
    _file(
        "confluent/type/variant.proto",
        "confluent.type",
        message_type=[_message("Variant", metadata=_BYTES, value=_BYTES)],
    ),
    # The place that the file of decimals once had, in Confluent's client in Python.
    _file(
        "confluent/types/decimal.proto",
        "confluent.types",
        dependency=[_DECIMAL],
        public_dependency=[0],
    ),
)
_APICURIO: Final = (
    _file(
        "metadata/metadata.proto",
        "metadata",
        dependency=[_OPTIONS],
        extension=_metadata_extensions(),
    ),
    _file(
        "additionalTypes/decimal.proto",
        "additionalTypes",
        message_type=[
            _message("Decimal", units=_INT64, fraction=_INT32, precision=_UINT32, scale=_INT32)
        ],
    ),
)

CONFLUENT_FILES: Final[frozenset[str]] = frozenset(each.name for each in _CONFLUENT)
"""The names of the files that Confluent's registry has, and others with its API."""

KNOWN_FILES: Final[Mapping[str, FileDescriptorProto]] = {
    each.name: each for each in (*_CONFLUENT, *_APICURIO)
}
"""All of the files, by name."""
