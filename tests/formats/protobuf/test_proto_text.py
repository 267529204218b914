"""The places of messages in a text are those that protoc gives."""

from __future__ import annotations

import base64

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import DESCRIPTOR_SET, SchemaText
from kafka_formats.protobuf.compiler import compiled
from kafka_formats.protobuf.names import messages_in
from kafka_formats.protobuf.proto_text import messages_of

PLAIN = 'syntax = "proto3"; message A { int32 x = 1; } message B { message C {} message D {} }'
TANGLED = """
// message No1 {
syntax = "proto2"; /* message No2 { */
package deep.er;
option java_package = "message No3 { }";
import "google/protobuf/descriptor.proto";
message A {
  option (about) = { text: "}" };
  enum E { X = 0; Y = 1 [deprecated = true]; }
  map<string, int32> some_counts = 1;
  optional string quoted = 2 [default = "\\"message No4 {\\""];
  optional group Inner = 3 { optional int32 x = 1; message Deeper {} }
  oneof either { string text = 4; group InOneof = 5 { optional int32 y = 1; } }
  message B { map<int32, A> m = 1; message C {} }
  extensions 100 to 200;
  extend A { optional int32 more = 100; }
  reserved 9, 11 to 20;
}
message About { optional string text = 1; }
extend google.protobuf.MessageOptions { optional About about = 50000; }
service S { rpc Call(A) returns (Last) { option deprecated = true; } }
message Last {}
"""


WORDS = """
syntax = "proto2";
package message.enum;
import "google/protobuf/descriptor.proto";
message message {
  optional int32 group = 1 [(about) = { text: "a" }];
  optional message message = 2; optional map map = 3; repeated group Groups = 4 {}
  oneof oneof { int32 extend = 5 [(about) = { text: "b" }]; group Alone = 6 {} }
  enum enum { option_ = 0; message_ = 1 [(value) = { text: "c" }]; }
  extensions 100 to 200 [verification = UNVERIFIED];
}
message map {
  map<string, int32> fooBar = 1; map<string, int32> a1b_c2d = 2; map<int32, map> __x_ = 3;
}
message extend { extend message { repeated group Extra = 101 {} } }
message oneof {} message rpc {} message option {} message service { message package {} }
message About { optional string text = 1; }
extend google.protobuf.FieldOptions { optional About about = 50000; }
extend google.protobuf.EnumValueOptions { optional About value = 50000; }
"""
NEWEST = """
edition = "2024"; package p;
local message A { message B {} } export message C { local message D {} export enum E { X = 0; } }
message F { C c = 1 [features.message_encoding = DELIMITED]; map<string, C> group = 2; }
"""


@pytest.mark.parametrize("text", [PLAIN, TANGLED, WORDS, NEWEST])
def test_places_are_protocs(text: str) -> None:
    schema = SchemaText(text)
    own = compiled(schema).own
    wanted = messages_in(own)
    assert len(wanted) >= 4
    assert messages_of(schema) == wanted
    descriptor = base64.b64encode(own.SerializeToString()).decode()
    assert messages_of(SchemaText(descriptor)) == wanted
    files = FileDescriptorSet(file=compiled(schema)).SerializeToString()
    assert messages_of(SchemaText(DESCRIPTOR_SET + base64.b64encode(files).decode())) == wanted


@pytest.mark.no_cover
@pytest.mark.parametrize("text", ["", "/*" * 200_000, '"' * 99_999, '"\\' * 99_999, "{" * 99_999])
def test_nonsense_takes_no_time(text: str) -> None:
    assert messages_of(SchemaText(text)) == {}


def test_braces_that_do_not_match() -> None:
    with pytest.raises(SchemaError, match="its braces do not match"):
        messages_of(SchemaText("message A { } }"))
