"""Payloads of generated messages are read as Spark's mapping says, and broken ones found.

The witness is protobuf's own runtime with a plain loop, one value at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.options.settings import Format
from kafka_formats.payload.format import Values
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf import decoder as protobuf_decoder
from kafka_formats.query.formats import FORMATS
from kafka_formats.schema_ids.frames import InHeader
from tests.arrow_owners import borrowed_bytes
from tests.formats.protobuf.messages import message_class

PROTOBUF = FORMATS[Format.PROTOBUF]
SCALARS = {
    "double": st.floats(),
    "float": st.floats(width=32),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "sint32": st.integers(-(2**31), 2**31 - 1),
    "sint64": st.integers(-(2**63), 2**63 - 1),
    "fixed32": st.integers(0, 2**32 - 1),
    "fixed64": st.integers(0, 2**64 - 1),
    "sfixed32": st.integers(-(2**31), 2**31 - 1),
    "sfixed64": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "string": st.text(max_size=4),
    "bytes": st.binary(max_size=4),
}
UNSIGNED = {"uint32": 32, "fixed32": 32, "uint64": 64, "fixed64": 64}
ALL = SchemaText(
    'syntax = "proto3"; package p; message All {'
    + "".join(
        f"{kind} plain_{kind} = {n}; optional {kind} optional_{kind} = {n + 20};"
        f"repeated {kind} list_{kind} = {n + 40};"
        f"repeated {kind} loose_{kind} = {n + 60}"
        f"{'' if kind in ('string', 'bytes') else ' [packed = false]'};"
        f"map<string, {kind}> map_{kind} = {n + 80};"
        for n, kind in enumerate(SCALARS, 1)
    )
    + "oneof either { int32 one = 101; Part two = 102; }"
    "Part part = 103; repeated Part parts = 104; map<sint64, Part> places = 105;"
    "enum E { ZERO = 0; ONE = 1; ALSO = -5; } E e = 106; repeated E es = 107;"
    "message Part { int32 x = 1; string y = 2; repeated int32 zs = 3; } }"
)
TYPE = PROTOBUF.type_of(ALL)
All: Any = message_class(ALL, "p.All")


def values_of(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Fields of one kind of scalar."""
    one, several = SCALARS[kind], st.lists(SCALARS[kind], max_size=3)
    items = st.dictionaries(st.text(max_size=2), SCALARS[kind], max_size=2)
    fields = {"plain": one, "optional": one, "list": several, "loose": several, "map": items}
    named = {f"{name}_{kind}": values for name, values in fields.items()}
    return st.fixed_dictionaries({}, optional=named)


PARTS = st.builds(
    All.Part, x=SCALARS["int32"], y=SCALARS["string"], zs=st.lists(SCALARS["int32"], max_size=3)
)


@st.composite
def messages(draw: st.DrawFn) -> Any:
    found = All(es=draw(st.lists(st.integers(-6, 3), max_size=3)), e=draw(st.integers(-6, 3)))
    for kind in draw(st.sets(st.sampled_from([*SCALARS]), max_size=4)):
        found.MergeFrom(All(**draw(values_of(kind))))
    if draw(st.booleans()):
        found.one = draw(SCALARS["int32"])
    if draw(st.booleans()):
        found.part.CopyFrom(draw(PARTS))
    if draw(st.booleans()):
        found.two.CopyFrom(draw(PARTS))
    found.parts.extend(draw(st.lists(PARTS, max_size=3)))
    for key, part in draw(st.dictionaries(SCALARS["sint64"], PARTS, max_size=2)).items():
        found.places[key].CopyFrom(part)
    return found


def symbol(number: int) -> str:
    return {0: "ZERO", 1: "ONE", -5: "ALSO"}.get(number, f"UNKNOWN_ENUM_VALUE_E_{number}")


def signed(name: str, value: Any) -> Any:
    bits = UNSIGNED.get(name.rsplit("_", maxsplit=1)[-1])
    return value - 2**bits if bits and value >= 2 ** (bits - 1) else value


def part_of(found: Any) -> dict[str, Any]:
    return {"x": found.x, "y": found.y, "zs": [*found.zs]}


def expected(found: Any) -> dict[str, Any]:
    """A message as Spark shows it, a field at a time."""
    row: dict[str, Any] = {}
    for kind in SCALARS:
        row[f"plain_{kind}"] = signed(kind, getattr(found, f"plain_{kind}"))
        name = f"optional_{kind}"
        row[name] = signed(kind, getattr(found, name)) if found.HasField(name) else None
        for name in (f"list_{kind}", f"loose_{kind}"):
            row[name] = [signed(kind, each) for each in getattr(found, name)]
        items = getattr(found, f"map_{kind}").items()
        row[f"map_{kind}"] = [(key, signed(kind, value)) for key, value in items]
    row["one"] = found.one if found.HasField("one") else None
    row["two"] = part_of(found.two) if found.HasField("two") else None
    row["part"] = part_of(found.part) if found.HasField("part") else None
    row["parts"] = [part_of(each) for each in found.parts]
    row["places"] = [(key, part_of(each)) for key, each in found.places.items()]
    row["e"] = symbol(found.e)
    row["es"] = [symbol(each) for each in found.es]
    return {field.name: row[field.name] for field in TYPE}


def in_order(row: dict[str, Any] | None) -> Any:
    """Maps have no order."""
    if row is None:
        return None
    maps = {field.name for field in TYPE if pa.types.is_map(field.type)}
    return {
        name: sorted(value, key=lambda pair: str(pair[0])) if name in maps else value
        for name, value in row.items()
    }


def decode(payloads: Sequence[bytes | None], many: int = protobuf_decoder._MANY) -> Values:
    """Decode payloads, all at once if there are as many."""
    with mock.patch.object(protobuf_decoder, "_MANY", many):
        found = (
            PROTOBUF.decoder_factory(ALL, TYPE, None)
            .for_schema(None)
            .decode(pa.array(payloads, pa.binary()), 0)
        )
    found.values.validate(full=True)
    assert found.values.type == TYPE
    assert len(found.values) == len(payloads)
    return found


@pytest.fixture(params=[0, protobuf_decoder._MANY], ids=["at once", "one by one"])
def many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of a few payloads: both ways to read them."""
    # The number of payloads decides; tests of few of them could not choose otherwise.
    monkeypatch.setattr(protobuf_decoder, "_MANY", request.param)


def check(payloads: Sequence[bytes | None]) -> None:
    check_values(payloads, decode(payloads))
    check_values(payloads, decode(payloads, many=0))


def check_values(payloads: Sequence[bytes | None], found: Values) -> None:
    decoder = PROTOBUF.decoder_factory(ALL, TYPE, None).for_schema(None)
    for payload, value, is_broken in zip(
        payloads, found.values.to_pylist(), found.is_broken.tolist(), strict=True
    ):
        try:
            wanted = None if payload is None else expected(All.FromString(payload))
        except DecodeError:
            assert is_broken
            assert payload is not None
            assert decoder.explain(payload).reason.startswith("it is not a p.All: ")
            continue
        assert not is_broken
        # Not `==`: NaN is none.
        assert repr(in_order(value)) == repr(in_order(wanted))


@pytest.mark.no_cover
@pytest.mark.many_inputs
@given(st.lists(st.one_of(st.none(), messages()), max_size=3))
def test_generated_messages(found: list[Any]) -> None:
    check([each and each.SerializeToString() for each in found])


@pytest.mark.no_cover
@given(messages(), st.data())
def test_damaged_payloads(found: Any, data: st.DataObject) -> None:
    whole = found.SerializeToString()
    at = data.draw(st.integers(0, max(len(whole) - 1, 0)))
    flipped = bytearray(whole)
    if flipped:
        flipped[at] ^= 1 << data.draw(st.integers(0, 7))
    check([whole, whole[:at], bytes(flipped), whole + data.draw(st.binary(max_size=8))])


@pytest.mark.many_inputs
@given(st.lists(st.binary(max_size=40), max_size=5))
def test_any_bytes(payloads: list[bytes]) -> None:
    check(payloads)


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
