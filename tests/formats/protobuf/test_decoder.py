"""Payloads of generated messages are read as Spark's mapping says, and broken ones found.

The witness is protobuf's own runtime with a plain loop, one value at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.schema_ids.frames import InHeader
from tests.arrow_owners import borrowed_bytes
from tests.formats.protobuf.all_types import ALL, PROTOBUF, SCALARS, TYPE, All, messages
from tests.formats.protobuf.comparison import BROKEN, Comparison
from tests.formats.protobuf.messages import message_class

COMPARED = Comparison(ALL, TYPE)


def check_payloads(payloads: Sequence[bytes]) -> None:
    """Payloads are read alike at once, one by one and by the runtime; broken ones are explained."""
    found = COMPARED.differences(payloads)
    assert not found, "\n".join(map(str, found))
    decoder = PROTOBUF.decoder_factory(ALL, TYPE, None).for_schema(None)
    for each in payloads:
        if COMPARED.wanted(each) == BROKEN:
            assert decoder.explain(each).reason.startswith("it is not a p.All: ")


@pytest.mark.no_cover
@pytest.mark.many_inputs
@given(st.lists(messages(), max_size=3))
def test_generated_messages(found: list[Any]) -> None:
    check_payloads([each.SerializeToString() for each in found])


@pytest.mark.no_cover
@given(messages(), st.data())
def test_damaged_payloads(found: Any, data: st.DataObject) -> None:
    whole = found.SerializeToString()
    at = data.draw(st.integers(0, max(len(whole) - 1, 0)))
    flipped = bytearray(whole)
    if flipped:
        flipped[at] ^= 1 << data.draw(st.integers(0, 7))
    check_payloads([whole, whole[:at], bytes(flipped), whole + data.draw(st.binary(max_size=8))])


@pytest.mark.many_inputs
@given(st.lists(st.binary(max_size=40), max_size=5))
def test_any_bytes(payloads: list[bytes]) -> None:
    check_payloads(payloads)


TIMES = SchemaText(
    'syntax = "proto3"; import "google/protobuf/timestamp.proto";'
    'import "google/protobuf/duration.proto"; message Times {'
    "google.protobuf.Timestamp at = 1; repeated google.protobuf.Duration took = 2; }"
)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("seconds", "nanos", "micros"),
    [
        (0, 0, 0),
        (1, 1_999, 1_000_001),
        (-1, 999_999_999, -1),
        (-1, -1_999, -1_000_001),
        (2**63 // 10**6, 0, 2**63 // 10**6 * 10**6),
        (-(2**40), 5_000, -(2**40) * 10**6 + 5),
        (2**62, 0, None),
        (-(2**63), -1, None),
    ],
)
def test_times(seconds: int, nanos: int, micros: int | None) -> None:
    found = message_class(TIMES, "Times")()
    found.at.seconds, found.at.nanos = seconds, nanos
    found.took.add(seconds=seconds, nanos=nanos)
    to = PROTOBUF.type_of(TIMES)
    good = pa.array([b"", found.SerializeToString(), b""], pa.binary())
    decoder = PROTOBUF.decoder_factory(TIMES, to, None).for_schema(None)
    decoded = decoder.decode(good, 0)
    assert decoded.is_broken.tolist() == [False, micros is None, False]
    assert decoded.values.type == to
    if micros is None:
        error = decoder.explain(good[1].as_py())
        assert (error.field, error.reason) == ("at", f"{seconds} seconds are out of range")
    else:
        at, took = decoded.values.field("at"), decoded.values.field("took").values
        assert [at.cast(pa.int64())[1].as_py(), took.cast(pa.int64())[0].as_py()] == [micros] * 2


OLD = SchemaText(
    """syntax = "proto2"; message Old {
    required int32 must = 1; optional int32 may = 2;
    optional int32 with_default = 3 [default = 7];
    optional E closed = 4; repeated E list = 5; optional E first = 6 [default = B];
    optional group Inner = 8 { optional string s = 1; }
    repeated group Rows = 9 { required int32 x = 1; }
    enum E { A = 1; B = 2; } }"""
)


@pytest.mark.usefixtures("many")
def test_proto2() -> None:
    to = PROTOBUF.type_of(OLD)
    assert not to.field("must").nullable
    payloads = [
        b"\x08\x00",
        b"\x08\x01\x10\x00\x18\x00\x20\x02\x28\x01\x28\x09\x30\x01\x43\x0a\x01a\x44\x4b\x08\x05\x4c",
        b"\x10\x01",
        b"\x08\x01\x20\x09",
        b"\x08\x01\x4b\x4c",
    ]
    decoder = PROTOBUF.decoder_factory(OLD, to, None).for_schema(None)
    found = decoder.decode(pa.array(payloads, pa.binary()), 0)
    assert found.is_broken.tolist() == [False, False, True, False, True]
    assert decoder.explain(payloads[2]).reason == "it lacks required fields: must"
    assert decoder.explain(payloads[4]).reason == "it lacks required fields: rows[].x"
    rows = found.values.to_pylist()
    absent: dict[str, Any] = {
        "may": None,
        "with_default": 7,
        "closed": None,
        "list": [],
        "first": "B",
    }
    assert rows[0] == {"must": 0, **absent, "inner": None, "rows": []}
    assert rows[1] == {
        **{"must": 1, "may": 0, "with_default": 0, "closed": "B", "list": ["A"], "first": "A"},
        **{"inner": {"s": "a"}, "rows": [{"x": 5}]},
    }
    assert rows[3] == {"must": 1, **absent, "inner": None, "rows": []}


@pytest.mark.usefixtures("many")
def test_a_part_of_a_message_that_contains_itself() -> None:
    schema = SchemaText(
        'syntax = "proto3"; message A { int32 x = 1; A a = 2; B b = 3; } message B { A a = 1; }'
    )
    with pytest.raises(SchemaError, match=r"the message A contains itself in the field A\.a: "):
        PROTOBUF.type_of(schema)
    to = pa.struct([("a", pa.struct([("x", pa.int32())])), ("x", pa.int32())])
    PROTOBUF.check_part(schema, to)
    found = (
        PROTOBUF.decoder_factory(schema, to, None)
        .for_schema(None)
        .decode(pa.array([b"\x12\x02\x08\x05"]), 0)
    )
    assert found.values.to_pylist() == [{"a": {"x": 5}, "x": 0}]


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (pa.int32(), "the payload is a struct, not int32"),
        (pa.struct([("part", pa.struct([]))]), "the field 'part' has no fields"),
        (pa.struct([("list_int32", pa.list_(pa.int64()))]), r"'list_int32\[\]' has the type int32"),
        (pa.struct([("places", pa.map_(pa.int32(), pa.int32()))]), "map with keys int64"),
    ],
)
def test_what_a_message_does_not_have_is_refused(wanted: pa.DataType, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        PROTOBUF.check_part(ALL, wanted)


WRITER = SchemaText('syntax = "proto3"; package p; message A { message All {} } message All {}')


@pytest.mark.usefixtures("many")
def test_the_message_index_is_that_of_the_writers_schema() -> None:
    decoders = PROTOBUF.decoder_factory(ALL, TYPE, lambda _: WRITER)
    body = All(one=4).SerializeToString()
    frames = [b"\x02\x02", b"\x00", b"\x04\x00\x00", b"\x02\x0c", b"\x80", b""]
    payloads = pa.array([b"frame" + each + body for each in frames], pa.binary())
    found = decoders.for_schema(1).decode(payloads, 5)
    assert found.is_broken.tolist() == [False, True, True, True, True, True]
    assert found.values[0].as_py()["one"] == 4
    reasons = [decoders.for_schema(1).explain(frames[row] + body).reason for row in range(1, 4)]
    assert reasons == [
        "it is a p.A, not a p.All",
        "it is a p.A.All, not a p.All",
        "its schema has no message with the index [6]",
    ]


@pytest.mark.usefixtures("many")
def test_the_message_index_in_a_header() -> None:
    decoders = PROTOBUF.decoder_factory(ALL, TYPE, lambda _: WRITER)
    body = pa.array([All(one=4).SerializeToString()], pa.binary())
    assert decoders.for_schema(InHeader(1, b"\x02\x02")).decode(body, 0).is_broken.tolist() == [
        False
    ]
    assert decoders.for_schema(InHeader(1, b"\x00")).decode(body, 0).is_broken.tolist() == [True]
    for suffix in (b"\x02", b"\x00\x00"):
        with pytest.raises(SchemaError, match="the header of the schema"):
            decoders.for_schema(InHeader(1, suffix))
    without = decoders.for_schema(1)
    assert without.decode(body, 0).is_broken.tolist() == [True]
    assert "message index" in without.explain(b"\x02\x02").reason


@pytest.mark.usefixtures("many")
def test_arrow_owns_decoded_values() -> None:
    """Of each scalar: `tests/formats/suite/test_values.py` has fewer of them."""
    message = All(one=1, part={"x": 1, "y": "a", "zs": [1, 2]}, parts=[{"x": 1}], es=[1], e=1)
    message.places[3].x = 1
    for kind in SCALARS:
        value = {"string": "a", "bytes": b"a", "bool": True}.get(kind, 1)
        getattr(message, f"list_{kind}").append(value)
        getattr(message, f"map_{kind}")["a"] = value
        for name in ("plain", "optional"):
            setattr(message, f"{name}_{kind}", value)
    decoder = PROTOBUF.decoder_factory(ALL, TYPE, None).for_schema(None)
    payloads = pa.array([message.SerializeToString()] * 5_000, pa.binary())
    assert borrowed_bytes(lambda: decoder.decode(payloads, 0).values) == 0


def test_an_unnamed_reason_is_never_given() -> None:
    error = PROTOBUF.decoder_factory(ALL, TYPE, None).for_schema(None).explain(b"\x08")
    assert isinstance(error, PayloadError)
    assert "Wire format was corrupt" in error.reason
