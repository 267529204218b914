"""What is written is what protobuf itself reads."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query.formats import FORMATS
from tests.formats.protobuf.all_types import ALL, TYPE, All, messages
from tests.formats.protobuf.messages import message_class
from tests.formats.protobuf.test_decoder import OLD, TIMES
from tests.formats.protobuf.witness import row_of

PROTOBUF = FORMATS[Format.PROTOBUF]


@given(messages())
def test_there_and_back(found: Any) -> None:
    if found.e not in {0, 1, -5}:
        found.ClearField("e")
    found.es[:] = [each for each in found.es if each in {0, 1, -5}]
    row = row_of(All, found.SerializeToString(), TYPE)
    payloads = PROTOBUF.encoder(ALL).encode(pa.array([row, row], TYPE))
    # Not `==`: NaN is none.
    assert repr(row_of(All, payloads[1].as_py(), TYPE)) == repr(row)


@pytest.mark.parametrize("micros", [0, 1, -1, -1_000_001, 1_500_000, -(2**62)])
def test_times(micros: int) -> None:
    to = PROTOBUF.type_of(TIMES)
    numbers = pa.array([micros], pa.int64())
    took = pa.ListArray.from_arrays([0, 1], numbers.view(pa.duration("us")))
    row = pa.StructArray.from_arrays(
        [numbers.view(pa.timestamp("us", tz="UTC")), took], names=["at", "took"]
    )
    found = message_class(TIMES, "Times").FromString(PROTOBUF.encoder(TIMES).encode(row)[0].as_py())
    assert found.at.seconds * 1_000_000 + found.at.nanos // 1_000 == micros
    assert found.at.nanos >= 0
    (duration,) = found.took
    assert duration.seconds * 1_000_000 + int(duration.nanos / 1_000) == micros
    assert duration.seconds * duration.nanos >= 0
    again = (
        PROTOBUF.decoder_factory(TIMES, to, None)
        .for_schema(None)
        .decode(PROTOBUF.encoder(TIMES).encode(row), 0)
    )
    assert again.values.field("at").equals(row.field("at"))


def test_fields_that_a_column_lacks_are_absent() -> None:
    encoder = PROTOBUF.encoder(OLD)
    values = pa.array([{"must": 4}], pa.struct([("must", pa.int32())]))
    assert encoder.encode(values)[0].as_py() == b"\x08\x04"
    encoder.check(pa.struct([pa.field("must", pa.int32(), nullable=False)]))
    with pytest.raises(SchemaError, match="lacks the required fields must"):
        encoder.check(pa.struct([("may", pa.int32())]))
    inner = pa.struct([("must", pa.int32()), ("rows", pa.list_(pa.struct([("y", pa.int32())])))])
    with pytest.raises(SchemaError, match=r"there is no field 'rows\[\]\.y'; there are x"):
        encoder.check(inner)


@pytest.mark.parametrize(
    ("row", "kind", "field", "reason"),
    [
        ({"must": None}, pa.struct([("must", pa.int32())]), "", "it lacks required fields: must"),
        ({"e": "GONE"}, pa.struct([("e", pa.string())]), "e", "no symbol 'GONE'; there are ZERO, "),
        ({"es": [None]}, pa.struct([("es", pa.list_(pa.string()))]), "es", "an item is null"),
        (
            {"map_int32": [("a", None)]},
            pa.struct([("map_int32", pa.map_(pa.string(), pa.int32()))]),
            "map_int32",
            "the value of the key 'a' is null",
        ),
    ],
)
def test_a_value_that_does_not_fit(
    row: dict[str, Any], kind: pa.DataType, field: str, reason: str
) -> None:
    schema = OLD if "must" in row else ALL
    with pytest.raises(PayloadError) as caught:
        PROTOBUF.encoder(schema).encode(pa.array([row], kind))
    assert caught.value.field == field
    assert reason in caught.value.reason


ONEOFS = SchemaText(
    'syntax = "proto3"; message A { oneof one { int32 a = 1; string b = 2; B c = 3; } '
    "optional int32 d = 4; map<string, A> within = 5; } message B { int32 x = 1; int32 y = 2; }"
)
ONEOF = [("a", pa.int32()), ("b", pa.string()), ("c", pa.struct({"x": pa.int32()}))]


@pytest.mark.parametrize(
    ("row", "given"),
    [
        ({"a": 0, "b": ""}, "a, b"),
        ({"b": "x", "c": {}}, "b, c"),
        ({"a": 1, "b": "x", "c": {"x": 1}}, "a, b, c"),
    ],
)
def test_several_values_of_a_oneof_are_refused(row: dict[str, Any], given: str) -> None:
    reason = f"the oneof 'one' has several values: {given}"
    with pytest.raises(PayloadError) as caught:
        PROTOBUF.encoder(ONEOFS).encode(pa.array([row], pa.struct(ONEOF)))
    assert caught.value.reason == reason
    within = pa.struct({"within": pa.map_(pa.string(), pa.struct(ONEOF))})
    with pytest.raises(PayloadError) as caught:
        PROTOBUF.encoder(ONEOFS).encode(pa.array([{"within": [("k", row)]}], within))
    assert (caught.value.field, caught.value.reason) == ("within", reason)


def test_one_value_of_a_oneof_is_written() -> None:
    to = pa.struct([*ONEOF, ("d", pa.int32())])
    rows = [{"a": 0, "d": 4}, {"b": "", "d": None}, {"c": {}, "d": 0}, {"d": 1}]
    payloads = PROTOBUF.encoder(ONEOFS).encode(pa.array(rows, to))
    assert payloads.to_pylist() == [
        b"\x08\x00\x20\x04",
        b"\x12\x00",
        b"\x1a\x00\x20\x00",
        b"\x20\x01",
    ]


def test_the_last_of_equal_keys_is_written_whole() -> None:
    text = (
        'syntax = "proto3"; message A { map<string, B> m = 1; } '
        "message B { int32 x = 1; repeated int32 y = 2; }"
    )
    value = pa.struct({"x": pa.int32(), "y": pa.list_(pa.int32())})
    row = {"m": [("k", {"x": 1, "y": [1]}), ("k", {"x": None, "y": [2]})]}
    schema = SchemaText(text)
    payloads = PROTOBUF.encoder(schema).encode(
        pa.array([row], pa.struct({"m": pa.map_(pa.string(), value)}))
    )
    found = message_class(schema, "A").FromString(payloads[0].as_py())
    assert (found.m["k"].x, [*found.m["k"].y]) == (0, [2])


def test_names_places_and_what_is_not_derived() -> None:
    text = 'syntax = "proto3"; package p; message A { message B { int32 x = 1; } } message C {}'
    assert PROTOBUF.name_of(SchemaText(text)) == "p.A"
    assert PROTOBUF.frame_suffix(SchemaText(text)) == b"\x00"
    for name in ("p.A.B", "A.B", "B"):
        schema = SchemaText(text, (), name)
        assert PROTOBUF.name_of(schema) == "p.A.B"
        assert PROTOBUF.frame_suffix(schema) == b"\x04\x00\x00"
    with pytest.raises(SchemaError, match=r"no message has the name 'X'; there are p\.A, p\.A\.B"):
        PROTOBUF.name_of(SchemaText(text, (), "X"))
    with pytest.raises(SchemaError, match="it has no message"):
        PROTOBUF.name_of(SchemaText('syntax = "proto3";'))
    with pytest.raises(SchemaError, match=r"the message p\.C has no fields"):
        PROTOBUF.type_of(SchemaText(text, (), "C"))
    with pytest.raises(SchemaError, match="not made from a column"):
        PROTOBUF.derive(TYPE)
