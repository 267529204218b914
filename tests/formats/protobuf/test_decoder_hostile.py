"""No payload fails a task, however it is made: it is read, or it alone is broken."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query.formats import FORMATS
from tests.formats.arrow.test_bytes_cursor import varint
from tests.formats.protobuf.all_types import ALL, TYPE, All

PROTOBUF = FORMATS[Format.PROTOBUF]
# As deep as protobuf reads messages in messages and unknown groups, in Java, C and Python.
DEPTH = 100
CHAIN = SchemaText(
    'syntax = "proto3";'
    + "".join(f"message M{n} {{ M{n + 1} m = 1; int32 x = 2; }}" for n in range(DEPTH))
    + f"message M{DEPTH} {{ int32 x = 2; }}"
)
CIRCLE = SchemaText('syntax = "proto3"; message A { int32 x = 1; A a = 2; map<int32, A> m = 3; }')


def field(number: int, wire_type: int, rest: bytes = b"") -> bytes:
    return varint(number << 3 | wire_type) + rest


def within(number: int, depth: int, inner: bytes) -> bytes:
    """Messages within messages."""
    for _ in range(depth):
        inner = field(number, 2, varint(len(inner)) + inner)
    return inner


def groups(depth: int) -> bytes:
    return field(50, 3) * depth + field(50, 4) * depth


def is_broken(schema: SchemaText, to: pa.DataType, *payloads: bytes) -> list[bool]:
    decoder = PROTOBUF.decoder_factory(schema, to, None).for_schema(None)
    found = decoder.decode(pa.array([*payloads, b""], pa.binary()), 0)
    found.values.validate(full=True)
    verdicts: list[bool] = found.is_broken.tolist()
    assert not verdicts[-1]
    return verdicts[:-1]


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    "payload",
    [
        b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # a length of 2^64 - 1
        b"\xa3\x3f" * 500_000,  # unknown groups, nested
        b"\xba\x06\x7f" * 500_000,  # messages, nested, that are cut off
        b"\xa3\x3f\xac\x3f",  # a group with the end of another
        b"\x72\x02\xff\xfe",  # text that is not UTF-8
    ],
)
def test_fault_64_hostile_payloads_are_broken_alone(payload: bytes) -> None:
    good = All(plain_int32=5).SerializeToString()
    assert is_broken(ALL, TYPE, good, payload, good) == [False, True, False]


@pytest.mark.usefixtures("many")
def test_messages_and_groups_as_deep_as_protobuf_reads_them() -> None:
    to = PROTOBUF.type_of(CHAIN)
    deepest = within(1, DEPTH, field(2, 0, b"\x05"))
    assert is_broken(CHAIN, to, deepest, groups(DEPTH)) == [False, False]
    broken = (groups(DEPTH + 1), groups(10**5), within(1, DEPTH, groups(1)), field(50, 4))
    assert is_broken(CHAIN, to, *broken) == [True] * 4
    row = (
        PROTOBUF.decoder_factory(CHAIN, to, None)
        .for_schema(None)
        .decode(pa.array([deepest]), 0)
        .values[0]
        .as_py()
    )
    for _ in range(DEPTH):
        row = row["m"]
    assert row == {"x": 5}


@pytest.mark.usefixtures("many")
def test_what_is_not_wanted_may_be_nested_without_end() -> None:
    to = pa.struct([("x", pa.int32())])
    deep = field(1, 0, b"\x07") + within(2, 20_000, b"")
    damaged = field(1, 0, b"\x07") + field(2, 2, b"\x03\xff\xff\xff")
    assert is_broken(CIRCLE, to, deep, damaged) == [False, False]


@pytest.mark.no_cover
@pytest.mark.many_inputs
@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    "payload",
    [
        field(3, 0, b"\x01") * 200_000,  # one field
        b"".join(field(n, 0, b"\x01") for n in range(1_000, 60_000)),  # unknown fields
        field(101, 0, b"\x01") * 20_000 + field(102, 2, b"\x00") * 20_000,  # a oneof, many times
        field(103, 2, b"\x02\x08\x01") * 50_000,  # messages to be merged
        field(104, 2, b"\x00") * 50_000,  # items without fields
        field(43, 2, varint(10**6) + b"\x01" * 10**6),  # a packed field
        field(94, 2, b"\x03\x0a\x01a") * 50_000,  # a map with one key
        field(107, 2, varint(10**6) + b"\x05" * 10**6),  # unknown symbols of an enum
        field(14, 2, varint(10**7) + b"a" * 10**7),  # a text
    ],
    ids=lambda payload: f"{payload[:4].hex()} {len(payload)}",
)
def test_long_and_wide_payloads(payload: bytes) -> None:
    assert is_broken(ALL, TYPE, payload) == [False]


@pytest.mark.usefixtures("many")
def test_a_text_of_proto2_that_is_not_utf8_is_broken() -> None:
    """Java replaces its bytes; protobuf in Python gives bytes, or an error that is not its own."""
    schema = SchemaText(
        'syntax = "proto2"; message A { optional string s = 1; repeated string list = 2;'
        "map<string, string> map = 3; optional group G = 4 { optional string s = 1; } }"
    )
    to = PROTOBUF.type_of(schema)
    payloads = [b"\x0a\x01\xff", b"\x12\x01\xff", b"\x1a\x06\x0a\x01a\x12\x01\xff"]
    payloads += [b"\x1a\x06\x0a\x01\xff\x12\x01a", b"\x23\x0a\x01\xff\x24", b"\x0a\x01a"]
    decoder = PROTOBUF.decoder_factory(schema, to, None).for_schema(None)
    # The last one counts, and protobuf checks no other one.
    found = decoder.decode(pa.array([*payloads, b"\x0a\x01\xff\x0a\x01a"], pa.binary()), 0)
    assert found.is_broken.tolist() == [True] * 5 + [False] * 2
    assert found.values[5].as_py() == {"s": "a", "list": [], "map": [], "g": None}
    assert found.values[6].as_py() == found.values[5].as_py()
    fields = [decoder.explain(each) for each in payloads[:5]]
    assert [each.field for each in fields] == ["s", "list", "map", "map", "g.s"]
    assert {each.reason for each in fields} == {"a text is not UTF-8"}


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("fields", "payload", "wanted"),
    [
        ("string seconds = 1; string nanos = 2;", b"\x0a\x011", {"seconds": "1", "nanos": ""}),
        (
            "repeated int64 seconds = 1; int32 nanos = 2;",
            b"\x08\x07",
            {"seconds": [7], "nanos": 0},
        ),
        ("int64 seconds = 1; B nanos = 2;", b"\x08\x07", {"seconds": 7, "nanos": None}),
        ("double seconds = 1; int64 nanos = 2;", b"\x10\x07", {"seconds": 0.0, "nanos": 7}),
    ],
)
def test_a_timestamp_of_other_types_is_a_struct(fields: str, payload: bytes, wanted: Any) -> None:
    schema = SchemaText(
        f'syntax = "proto3"; message A {{ Timestamp at = 1; }} message Timestamp {{ {fields} }}'
        "message B { int32 x = 1; }"
    )
    to = PROTOBUF.type_of(schema)
    whole = b"\x0a" + bytes([len(payload)]) + payload
    found = (
        PROTOBUF.decoder_factory(schema, to, None)
        .for_schema(None)
        .decode(pa.array([whole], pa.binary()), 0)
    )
    assert found.is_broken.tolist() == [False]
    assert found.values.to_pylist() == [{"at": wanted}]
