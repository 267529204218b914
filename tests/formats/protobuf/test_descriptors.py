"""The files of a schema that a registry needs."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import DESCRIPTOR_SET, SchemaText, descriptor_set_text
from kafka_formats.protobuf.descriptors import files_to_register
from tests.formats.protobuf.messages import descriptor_set

FILES = {
    "shop/unit.proto": 'syntax = "proto3"; package shop; message Unit { string name = 1; }',
    "shop/line.proto": """
syntax = "proto3"; package shop;
import "shop/unit.proto";
message Line { Unit unit = 1; }
""",
    "shop/order.proto": """
syntax = "proto3"; package shop;
import "google/protobuf/timestamp.proto";
import "google/type/date.proto";
import "shop/line.proto";
import "shop/unit.proto";
message Order {
  int64 id = 1;
  Line line = 2;
  Unit unit = 3;
  google.protobuf.Timestamp at = 4;
  google.type.Date day = 5;
}
""",
    "google/type/date.proto": "package google.type; message Date { optional int32 year = 1; }",
    "other.proto": "message Other {}",
}


def test_the_files_of_a_set_in_order_without_those_that_registries_know(tmp_path: Path) -> None:
    content = descriptor_set(tmp_path, FILES, *FILES).read_bytes()
    found = files_to_register(SchemaText(descriptor_set_text(content), message="Order"))
    assert [(each.name, each.imports) for each in found] == [
        ("shop/unit.proto", ()),
        ("shop/line.proto", ("shop/unit.proto",)),
        ("shop/order.proto", ("shop/line.proto", "shop/unit.proto")),
    ]
    files = [FileDescriptorProto.FromString(base64.b64decode(each.text)) for each in found]
    assert [each.name for each in files] == [each.name for each in found]
    assert [each.name for each in files[-1].message_type] == ["Order"]


def test_a_text_is_registered_as_it_is() -> None:
    (file,) = files_to_register(SchemaText(FILES["shop/unit.proto"]))
    assert (file.text, file.imports) == (FILES["shop/unit.proto"], ())


def test_a_set_that_is_none() -> None:
    with pytest.raises(SchemaError, match="not a FileDescriptorSet"):
        files_to_register(SchemaText(DESCRIPTOR_SET + "AAAA"))
