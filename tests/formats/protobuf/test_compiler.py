"""Schemas of all kinds are compiled, and bad ones refused with a reason."""

from __future__ import annotations

import base64

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import DESCRIPTOR_SET, SchemaText
from kafka_formats.protobuf.compiler import compiled

PART = 'syntax = "proto3"; package p; message Part { int32 x = 1; }'
WHOLE = """
syntax = "proto3";
import "dir/part.proto";
import "google/protobuf/timestamp.proto";
message Whole { p.Part part = 1; google.protobuf.Timestamp at = 2; }
"""
NAME = "dir/part.proto"


def in_base64(text: str, *dependencies: tuple[str, str]) -> str:
    own = compiled(SchemaText(text, dependencies)).own
    return base64.b64encode(own.SerializeToString()).decode()


@pytest.mark.parametrize("is_own_text", [True, False])
@pytest.mark.parametrize("is_part_text", [True, False])
def test_text_and_descriptors_in_any_mixture(is_own_text: bool, is_part_text: bool) -> None:
    own = WHOLE if is_own_text else in_base64(WHOLE, (NAME, PART))
    part = PART if is_part_text else in_base64(PART)
    found = compiled(SchemaText(own, ((NAME, part),)))
    assert {each.name for each in found} == {
        *("dir/part.proto", "google/protobuf/timestamp.proto", "schema.proto")
    }
    assert found.own.message_type[0].name == "Whole"
    seen: set[str] = set()
    for each in found:
        assert seen.issuperset(each.dependency)
        seen.add(each.name)


def test_a_file_of_googles_common_types() -> None:
    text = 'syntax = "proto3"; import "google/type/date.proto"; message A { google.type.Date d=1; }'
    assert [each.name for each in compiled(SchemaText(text))] == [
        *("google/type/date.proto", "schema.proto")
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nonsense", "protoc refuses it: schema.proto:1:1: "),
        ('syntax = "proto3"; import "other.proto";', r'other\.proto'),
        ('syntax = "proto3"; message A { Gone x = 1; }', '"Gone" is not defined'),
        ("message A {" * 5_000, "protoc refuses it"),
        ("x" * (16 * 1024 * 1024 + 1), "more than 16777216 characters"),
        (DESCRIPTOR_SET + "AAAA", "not a FileDescriptorSet"),
        (DESCRIPTOR_SET, "has no file"),
    ],
)  # fmt: skip
def test_a_bad_schema(text: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        compiled(SchemaText(text))


@pytest.mark.parametrize("name", ["../part.proto", "/part.proto", "a/../../b.proto", "c:\\x.proto"])
def test_a_reference_cannot_leave_its_folder(name: str) -> None:
    with pytest.raises(SchemaError, match="a file cannot be named"):
        compiled(SchemaText(WHOLE, ((name, PART),)))


def test_imports_that_are_missing_or_form_a_circle() -> None:
    one = FileDescriptorProto(name="one", dependency=["two"])
    two = FileDescriptorProto(name="two", dependency=["one"])

    def compiled_set(*files: FileDescriptorProto) -> None:
        content = FileDescriptorSet(file=files).SerializeToString()
        compiled(SchemaText(DESCRIPTOR_SET + base64.b64encode(content).decode()))

    with pytest.raises(SchemaError, match="form a circle: one -> two -> one"):
        compiled_set(two, one)
    with pytest.raises(SchemaError, match="one imports 'two', which is missing: register it"):
        compiled_set(one)
