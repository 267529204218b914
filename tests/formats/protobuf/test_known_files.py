"""Files that schemas import without a reference are those of Confluent and of Google themselves."""

from __future__ import annotations

import base64
from importlib import import_module

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.compiler import compiled, is_built_in
from kafka_formats.protobuf.known_files import CONFLUENT_FILES, KNOWN_FILES

_REPEATED = FieldDescriptorProto.LABEL_REPEATED
# As in Confluent's `ProtobufSchema`, and what protoc brings.
GOOGLE = [
    *(f"google/type/{name}.proto" for name in (
        *("calendar_period", "color", "date", "datetime", "dayofweek", "decimal", "expr"),
        *("fraction", "interval", "latlng", "money", "month", "phone_number", "postal_address"),
        *("quaternion", "timeofday"),
    )),
    *(f"google/protobuf/{name}.proto" for name in (
        *("any", "api", "descriptor", "duration", "empty", "field_mask", "source_context"),
        *("struct", "timestamp", "type", "wrappers", "java_features", "cpp_features"),
        *("go_features", "compiler/plugin"),
    )),
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(CONFLUENT_FILES))
def test_files_of_confluent_have_the_fields_of_its_client(name: str) -> None:
    path = name.removesuffix(".proto").replace("/", ".")
    module = import_module(f"confluent_kafka.schema_registry.{path}_pb2")
    theirs = FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
    assert [*KNOWN_FILES[name].dependency] == [*theirs.dependency]
    assert shape(KNOWN_FILES[name]) == shape(theirs)


def shape(file: FileDescriptorProto) -> list[tuple[object, ...]]:
    """All fields of a file, and its extensions."""
    messages = [
        *file.message_type,
        *(each for own in file.message_type for each in own.nested_type),
    ]
    owners = [(each.name, each.field) for each in messages] + [(file.package, file.extension)]
    return [
        # A field with the name of its type may leave out that it is a message.
        (owner, each.name, each.number, each.type_name or each.type, each.label == _REPEATED)
        for owner, fields in owners
        for each in fields
    ]


@pytest.mark.parametrize("name", [*KNOWN_FILES, *GOOGLE])
def test_an_import_without_a_reference(name: str) -> None:
    text = f'syntax = "proto3"; import "{name}"; message A {{ int32 x = 1; }}'
    found = compiled(SchemaText(text))
    assert name in [each.name for each in found]
    serialised = base64.b64encode(found.own.SerializeToString()).decode()
    assert {each.name for each in compiled(SchemaText(serialised))} == {each.name for each in found}


def test_a_reference_is_preferred_to_a_known_file() -> None:
    name = "confluent/type/decimal.proto"
    own = 'syntax = "proto3"; package confluent.type; message Decimal { string text = 1; }'
    text = f'syntax = "proto3"; import "{name}"; message A {{ confluent.type.Decimal d = 1; }}'
    found = compiled(SchemaText(text, ((name, own),)))
    assert [each.name for each in found[0].message_type[0].field] == ["text"]


def test_an_import_that_nobody_has() -> None:
    for name in ("confluent/other.proto", "google/type/other.proto", "google/protobuf/other.proto"):
        with pytest.raises(SchemaError, match="other"):
            compiled(SchemaText(f'syntax = "proto3"; import "{name}"; message A {{}}'))


def test_what_registries_do_not_need() -> None:
    assert all(is_built_in(name) for name in (*CONFLUENT_FILES, *GOOGLE))
    assert not is_built_in("additionalTypes/decimal.proto")
    assert not is_built_in("confluent/other.proto")
