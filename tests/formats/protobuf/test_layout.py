"""Layouts: the tags of wanted fields; none for what only proto2 has."""

from __future__ import annotations

import pytest

from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.descriptors import files_of, message_of
from kafka_formats.protobuf.layout import BYTES, FIXED32, VARINT, Inner, Layout, layout_for, tag_of
from kafka_formats.protobuf.plan import plan_for
from kafka_formats.protobuf.types import message_type


def layout_of(text: str) -> Layout | None:
    message = message_of(files_of(SchemaText(text)), "A")
    return layout_for(message, plan_for(message, message_type(message)))


def test_the_tags_of_fields() -> None:
    found = layout_of(
        'syntax = "proto3"; message A { int32 x = 1; repeated float y = 2; B b = 3;'
        "map<string, int32> m = 4; } message B { string s = 7; }"
    )
    assert found is not None
    assert found.places == {
        tag_of(1, VARINT): 0,
        tag_of(2, FIXED32): 1,
        tag_of(2, BYTES): 1,
        tag_of(3, BYTES): 2,
        tag_of(4, BYTES): 3,
    }
    assert found.numbers == {1, 2, 3, 4}
    assert isinstance(found.fields[2], Inner)
    assert isinstance(found.fields[3], Inner)
    assert found.fields[2].layout.places == {tag_of(7, BYTES): 0}
    assert found.fields[3].layout.places == {tag_of(1, BYTES): 0, tag_of(2, VARINT): 1}


def test_oneofs_with_several_fields() -> None:
    found = layout_of(
        'syntax = "proto3"; message A { optional int32 x = 1;'
        "oneof one { int32 y = 2; int32 z = 3; } oneof alone { int32 w = 4; } }"
    )
    assert found is not None
    assert found.oneofs == {2: "one", 3: "one"}


@pytest.mark.parametrize(
    "text",
    [
        'syntax = "proto2"; message A { required int32 x = 1; }',
        'syntax = "proto2"; message A { optional int32 x = 1 [default = 5]; }',
        'syntax = "proto2"; message A { optional group G = 1 { optional int32 x = 1; } }',
        'syntax = "proto2"; message A { optional E e = 1; enum E { X = 1; } }',
        'syntax = "proto2"; message A { repeated B b = 1; } message B { required int32 x = 1; }',
        'syntax = "proto2"; message A { map<int32, E> e = 1; enum E { X = 0; } }',
        'syntax = "proto2"; message A { optional Timestamp t = 1; }'
        "message Timestamp { required int64 seconds = 1; optional int32 nanos = 2; }",
        'syntax = "proto3"; message A { Duration t = 1; }'
        "message Duration { sint64 seconds = 1; int32 nanos = 2; }",
    ],
)
def test_what_a_scan_cannot_read(text: str) -> None:
    assert layout_of(text) is None


def test_proto2_without_that_can_be_scanned() -> None:
    assert layout_of('syntax = "proto2"; message A { optional int32 x = 1; }') is not None
