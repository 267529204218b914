"""Codecs built from declarations. No postponed annotations here: declarations read them at once.

The declared messages have tests of their own in `messages/`; what these need is small.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import DecodeError, EncodeError, UnsupportedVersionError
from kafka_protocol.messages.metadata import MetadataResponse
from kafka_protocol.wire.codec import read_message, write_message
from kafka_protocol.wire.schema import (
    Message,
    Response,
    Struct,
    StructMeta,
    boolean,
    bytes_,
    field,
    float64,
    int8,
    int16,
    int32,
    int64,
    records_,
    string,
    uint16,
    uint32,
    uuid,
)
from tests.protocol.strategies import encode


def decode(cls: type[Message], version: int, body: bytes) -> Any:
    return read_message(cls, version, memoryview(body))


class Point(Struct):
    x: int8 = field()
    y: int8 = field(versions="1+", default=-1)


class Everything(Response, api_key=90, versions="0-2", flexible="2+"):
    a_boolean: boolean = field()
    an_int8: int8 = field()
    an_int16: int16 = field()
    a_uint16: uint16 = field()
    an_int32: int32 = field()
    a_uint32: uint32 = field()
    an_int64: int64 = field()
    a_float64: float64 = field()
    a_uuid: uuid = field()
    a_string: string = field()
    some_bytes: bytes_ = field()
    a_batch: records_ | None = field(nullable="1+")
    a_point: Point = field()
    points: list[Point] = field()
    numbers: list[int16] | None = field(nullable="1+")
    names: list[string] = field()


# The common bytes of all versions, up to the uuid.
_NUMBERS = (
    b"\x01"  # a_boolean
    b"\xff"  # an_int8
    b"\x00\x02"  # an_int16
    b"\xff\xff"  # a_uint16
    b"\x00\x00\x00\x03"  # an_int32
    b"\xff\xff\xff\xff"  # a_uint32
    b"\x00\x00\x00\x00\x00\x00\x00\x04"  # an_int64
    b"\x3f\xf0\x00\x00\x00\x00\x00\x00" + bytes(16)  # a_float64  # a_uuid
)
_NUMBER_VALUES: dict[str, Any] = {
    "a_boolean": True,
    "an_int8": -1,
    "an_int16": 2,
    "a_uint16": 2**16 - 1,
    "an_int32": 3,
    "a_uint32": 2**32 - 1,
    "an_int64": 4,
    "a_float64": 1.0,
}

FORMS = [
    (
        0,
        Everything(
            **_NUMBER_VALUES,
            a_string="ab",
            some_bytes=b"cd",
            a_batch=b"e",
            a_point=Point(x=5),
            points=[Point(x=6), Point(x=7)],
            numbers=[8],
            names=["f"],
        ),
        _NUMBERS
        + b"\x00\x02ab"
        + b"\x00\x00\x00\x02cd"
        + b"\x00\x00\x00\x01e"
        + b"\x05"  # a_point, without y
        + b"\x00\x00\x00\x02\x06\x07"
        + b"\x00\x00\x00\x01\x00\x08"
        + b"\x00\x00\x00\x01\x00\x01f",
    ),
    (
        1,
        Everything(**_NUMBER_VALUES, a_batch=None, a_point=Point(x=5, y=6), numbers=None),
        _NUMBERS
        + b"\x00\x00"
        + b"\x00\x00\x00\x00"
        + b"\xff\xff\xff\xff"  # a_batch is null
        + b"\x05\x06"
        + b"\x00\x00\x00\x00"
        + b"\xff\xff\xff\xff"  # numbers is null
        + b"\x00\x00\x00\x00",
    ),
    (
        2,
        Everything(
            **_NUMBER_VALUES,
            a_string="ab",
            some_bytes=b"cd",
            a_batch=None,
            a_point=Point(x=5, y=6),
            points=[Point(x=7, y=8)],
            numbers=[9],
            names=["f"],
        ),
        _NUMBERS
        + b"\x03ab"
        + b"\x03cd"
        + b"\x00"  # a_batch is null
        + b"\x05\x06\x00"  # each struct ends with its number of tagged fields
        + b"\x02\x07\x08\x00"
        + b"\x02\x00\x09"
        + b"\x02\x02f"
        + b"\x00",
    ),
]


@pytest.mark.parametrize(("version", "message", "body"), FORMS)
def test_every_wire_type(version: int, message: Everything, body: bytes) -> None:
    assert encode(message, version) == body
    assert decode(Everything, version, body) == message


@pytest.mark.parametrize(("version", "message", "body"), FORMS)
def test_fault_14_bytes_after_a_message_are_ignored_and_none_is_missing(
    version: int, message: Everything, body: bytes
) -> None:
    assert decode(Everything, version, body + b"from the future") == message
    for end in range(len(body)):
        with pytest.raises(DecodeError, match=f"^Everything v{version}: "):
            decode(Everything, version, body[:end])


def test_unknown_version() -> None:
    with pytest.raises(UnsupportedVersionError, match="Everything has versions 0-2, not 3"):
        decode(Everything, 3, b"")
    with pytest.raises(UnsupportedVersionError, match="Everything has versions 0-2, not -1"):
        write_message(Everything(), -1, [])


# --- Fields that a version lacks ---------------------------------------------------------------


class Growing(Response, api_key=91, versions="0-2"):
    always: int8 = field()
    important: int8 = field(versions="1+", default=-1)
    ignorable: int8 = field(versions="1+", default=-1, ignorable=True)
    points: list[Point] = field(versions="2+")
    gone: string = field(versions="0")


def test_absent_fields_have_their_default_after_reading() -> None:
    assert decode(Growing, 1, b"\x01\x02\x03") == Growing(always=1, important=2, ignorable=3)
    assert decode(Growing, 0, b"\x01\x00\x01x") == Growing(always=1, gone="x")


def test_absent_field_with_its_default_is_left_out() -> None:
    assert encode(Growing(always=1, important=-1, points=[]), 0) == b"\x01\x00\x00"


@pytest.mark.parametrize(
    ("message", "version", "name"),
    [
        (Growing(important=0), 0, "important"),
        (Growing(points=[Point()]), 1, "points"),
        (Growing(gone="x"), 1, "gone"),
    ],
)
def test_absent_field_with_a_value_is_rejected(message: Growing, version: int, name: str) -> None:
    expected = f"Growing v{version}: {name} is set, and version {version} has no such field"
    with pytest.raises(EncodeError, match=expected):
        encode(message, version)


def test_absent_ignorable_field_is_dropped() -> None:
    assert encode(Growing(always=1, ignorable=5), 0) == b"\x01\x00\x00"


def test_error_has_the_path_of_the_field() -> None:
    message = Everything(a_batch=b"", points=[Point(x=1, y=2)])
    with pytest.raises(EncodeError, match="Everything v0: points: y is set, and version 0"):
        encode(message, 0)


# --- Null --------------------------------------------------------------------------------------


class Plain(Response, api_key=92, versions="0-1", flexible="1+"):
    text: string = field()
    data: bytes_ = field()
    names: list[string] = field()
    numbers: list[int8] = field()
    point: Point = field()


@pytest.mark.parametrize(
    ("version", "body", "name"),
    [
        (0, b"\xff\xff", "text"),
        (0, b"\x00\x00\xff\xff\xff\xff", "data"),
        (0, b"\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff", "names"),
        (0, b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff", "an array's element"),
        (1, b"\x00", "text"),
        (1, b"\x01\x00", "data"),
        (1, b"\x01\x01\x00", "names"),
        (1, b"\x01\x01\x02\x00", "an array's element"),
        (1, b"\x01\x01\x01\x00", "numbers"),
    ],
)
def test_fault_15_null_in_a_field_that_is_not_nullable(
    version: int, body: bytes, name: str
) -> None:
    with pytest.raises(DecodeError, match=f"Plain v{version}: {name} is null"):
        decode(Plain, version, body)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"text": None}, "text"),
        ({"data": None}, "data"),
        ({"names": None}, "names"),
        ({"names": ["a", None]}, "names: an array's element"),
        ({"numbers": [None]}, "numbers"),
        ({"point": None}, "point"),
    ],
)
def test_none_in_a_field_that_is_not_nullable(values: dict[str, Any], name: str) -> None:
    with pytest.raises(EncodeError, match=f"^Plain v0: {name}"):
        encode(Plain(**values), 0)


class Sparse(Response, api_key=93, versions="0-1", flexible="1+"):
    point: Point | None = field(nullable="1+")
    last: int8 = field()


def test_nullable_struct() -> None:
    assert encode(Sparse(point=None, last=9), 1) == b"\xff\x09\x00"
    assert decode(Sparse, 1, b"\xff\x09\x00") == Sparse(point=None, last=9)

    message = Sparse(point=Point(x=1, y=2), last=9)
    assert encode(message, 1) == b"\x01\x01\x02\x00\x09\x00"
    assert decode(Sparse, 1, b"\x01\x01\x02\x00\x09\x00") == message


def test_struct_before_the_version_that_made_it_nullable() -> None:
    assert encode(Sparse(point=Point(x=1), last=9), 0) == b"\x01\x09"
    with pytest.raises(EncodeError, match="point is None where that is not allowed"):
        encode(Sparse(point=None), 0)


# --- Arrays ------------------------------------------------------------------------------------


class Grid(Response, api_key=94, versions="0"):
    rows: list[list[int8]] = field()


def test_array_of_arrays() -> None:
    message = Grid(rows=[[1, 2], []])
    body = b"\x00\x00\x00\x02" + b"\x00\x00\x00\x02\x01\x02" + b"\x00\x00\x00\x00"
    assert encode(message, 0) == body
    assert decode(Grid, 0, body) == message


def test_null_in_an_array_of_arrays() -> None:
    with pytest.raises(DecodeError, match="an array's element is null"):
        decode(Grid, 0, b"\x00\x00\x00\x01\xff\xff\xff\xff")


def test_none_in_an_array_of_structs() -> None:
    with pytest.raises(EncodeError, match="points: an array's element is None"):
        encode(Everything(a_batch=b"", points=[None]), 0)  # type: ignore[list-item]


# --- Tagged fields -----------------------------------------------------------------------------


class Tagged(Response, api_key=95, versions="0-1", flexible="1+"):
    plain: int8 = field()
    late: int16 = field(versions="1+", tag=5, default=-1, ignorable=True)
    early: string | None = field(versions="1+", tag=0, nullable="1+", default=None)
    point: Point = field(versions="1+", tag=1)


TAGGED = [
    (Tagged(plain=7), b"\x07\x00"),
    (Tagged(plain=7, late=3), b"\x07\x01" + b"\x05\x02\x00\x03"),
    (
        Tagged(plain=7, late=3, early="ab", point=Point(x=1, y=2)),
        b"\x07\x03"
        + b"\x00\x03\x03ab"  # by ascending tag, not in the order of the declaration
        + b"\x01\x03\x01\x02\x00"
        + b"\x05\x02\x00\x03",
    ),
]


@pytest.mark.parametrize(("message", "body"), TAGGED)
def test_tagged_fields(message: Tagged, body: bytes) -> None:
    assert encode(message, 1) == body
    assert decode(Tagged, 1, body) == message
    for end in range(len(body)):
        with pytest.raises(DecodeError):
            decode(Tagged, 1, body[:end])


def test_tagged_fields_do_not_exist_below_flexible_versions() -> None:
    assert encode(Tagged(plain=7, late=3), 0) == b"\x07"
    assert decode(Tagged, 0, b"\x07") == Tagged(plain=7)


@pytest.mark.parametrize(
    "unknown",
    [
        b"\x09\x00",  # empty
        b"\x09\x02\xff\xff",
        b"\xff\xff\xff\xff\x0f\x01x",  # the highest tag
    ],
)
def test_fault_14_unknown_tagged_field_is_skipped(unknown: bytes) -> None:
    body = b"\x07\x02" + b"\x05\x02\x00\x03" + unknown
    assert decode(Tagged, 1, body) == Tagged(plain=7, late=3)


def test_unknown_tagged_field_inside_a_tagged_struct() -> None:
    body = b"\x07\x01" + b"\x01\x06" + b"\x01\x02" + b"\x01\x63\x01x"
    assert decode(Tagged, 1, body) == Tagged(plain=7, point=Point(x=1, y=2))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\x07\x01\x05\x03\x00\x03\x00", "tagged field late is 2 bytes, not 3"),
        (b"\x07\x01\x05\x01\x00\x03", "int16 is cut short"),
        (b"\x07\x01\x05\x7f\x00\x03", "tagged field 5 of 127 bytes with 2 left"),
        (b"\x07\x01\x63\x02x", "tagged field 99 of 2 bytes with 1 left"),
        (b"\x07\x01\x01\x02\x01\x02\x00", "varint is cut short"),  # reads past its own end
        (b"\x07\x7f", "varint is cut short"),
        (b"\x07\xff\xff\xff\xff\x0f", "varint is cut short"),
    ],
)
def test_fault_15_tagged_field_of_a_wrong_size(body: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        decode(Tagged, 1, body)


# --- Arrays are bounded before they are read ----------------------------------------------------


class Wide(Message, versions="0-1", flexible="1+"):
    """Elements of at least 14 bytes, or 10 in compact form: string, int64, array."""

    class Row(Struct):
        name: string = field()
        number: int64 = field()
        numbers: list[int32] = field(versions="0")

    rows: list[Row] = field()


@pytest.mark.parametrize(("version", "least"), [(0, 14), (1, 10)])
def test_fault_15_array_longer_than_its_bytes(version: int, least: int) -> None:
    rows = [Wide.Row(name="", number=1) for _ in range(3)]
    body = encode(Wide(rows=rows), version)
    assert read_message(Wide, version, memoryview(body)).rows == rows
    # One element more than the bytes can have.
    count = 4
    head = count.to_bytes(4, "big") if version == 0 else bytes([count + 1])
    claimed = head + body[len(head) :]
    with pytest.raises(DecodeError, match=rf"array of 4 elements of {least} bytes or more, with"):
        read_message(Wide, version, memoryview(claimed))


class Optional(Message, versions="0"):
    """Elements of at least 1 byte: null, although a present value takes 8."""

    class Row(Struct):
        class Place(Struct):
            offset: int64 = field()

        place: Place | None = field(nullable="0+")

    rows: list[Row] = field()


def test_nulls_may_be_shorter_than_the_struct() -> None:
    body = encode(Optional(rows=[Optional.Row(place=None) for _ in range(100)]), 0)
    assert len(body) == 4 + 100
    assert len(read_message(Optional, 0, memoryview(body)).rows) == 100


# The versions in which it can be null. The default of each has the minimum size.
WIRE_TYPES: list[tuple[Any, str]] = [
    *((wire_type, "none") for wire_type in (boolean, int16, uint32, int64, float64, uuid)),
    *((wire_type, "none") for wire_type in (string, bytes_, list[int32], list[Point])),
    *((wire_type, "0+") for wire_type in (string, bytes_, list[int32], list[Point])),
    (records_, "0+"),
    (Point, "none"),
]


@given(
    wire_types=st.lists(st.sampled_from(WIRE_TYPES), min_size=1, max_size=6),
    version=st.integers(0, 1),
    count=st.integers(0, 20),
)
def test_fault_15_minimum_size_of_elements(
    wire_types: list[tuple[Any, str]], version: int, count: int
) -> None:
    annotations = {f"field_{i}": wire_type for i, (wire_type, _) in enumerate(wire_types)}
    fields = {f"field_{i}": field(nullable=null) for i, (_, null) in enumerate(wire_types)}
    row: Any = StructMeta("Row", (Struct,), {**fields, "__annotations__": annotations})
    body = {"rows": field(), "__annotations__": {"rows": list[row]}}
    cls: Any = StructMeta("Rows", (Message,), body, versions="0-1", flexible="1+")
    honest = encode(cls(rows=[row()] * count), version)
    assert len(decode(cls, version, honest).rows) == count
    # One more is rejected before the first is read. (A v1 message ends with its own tags.)
    head = (count + 1).to_bytes(4, "big") if version == 0 else bytes([count + 2])
    with pytest.raises(DecodeError, match=rf" of (length )?{count + 1} "):
        decode(cls, version, (head + honest[len(head) :])[: len(honest) - version])


class Capped(Message, versions="0"):
    numbers: list[int32] = field(at_most=3)
    points: list[Point] = field(at_most=3)


@pytest.mark.parametrize("name", ["numbers", "points"])
def test_fault_15_array_with_a_declared_limit(name: str) -> None:
    elements: list[Any] = [7] * 3 if name == "numbers" else [Point()] * 3
    assert decode(Capped, 0, encode(Capped(**{name: elements}), 0)) == Capped(**{name: elements})
    with pytest.raises(DecodeError, match="array of 4 elements, of 3 at the most"):
        decode(Capped, 0, encode(Capped(**{name: [*elements, elements[0]]}), 0))


class Polled(Response, api_key=96, versions="0-1", flexible="1+"):
    number: int32 = field()
    points: list[Point] = field(repeats=True)
    name: string = field()


@pytest.mark.parametrize("version", [0, 1])
def test_a_field_that_repeats_is_decoded_once(version: int) -> None:
    """Whatever is before and behind it. The bytes of a view may change."""
    points = [Point(x=1), Point(x=2)]
    messages = [Polled(number=n, points=points, name="n" * n) for n in range(3)]
    messages.append(Polled(number=3, points=points[:1], name="n"))
    bodies = [bytearray(encode(message, version)) for message in messages]
    found = [read_message(Polled, version, memoryview(body)) for body in bodies]
    assert found == messages
    assert found[0].points is found[1].points is found[2].points
    bodies[3][:] = bytes(len(bodies[3]))
    assert read_message(Polled, version, memoryview(encode(messages[3], version))) == messages[3]


def test_fault_15_a_field_that_repeats_is_cut_short() -> None:
    body = encode(Polled(points=[Point(x=1)]), 1)
    read_message(Polled, 1, memoryview(body))
    for end in range(len(body)):
        with pytest.raises(DecodeError):
            read_message(Polled, 1, memoryview(body)[:end])


def test_long_array_of_numbers() -> None:
    row = Wide.Row(name="", number=1, numbers=[7] * 200_000)
    assert decode(Wide, 0, encode(Wide(rows=[row]), 0)).rows == [row]


@pytest.mark.no_cover
def test_large_responses() -> None:
    partition = MetadataResponse.MetadataResponseTopic.MetadataResponsePartition()
    topic = MetadataResponse.MetadataResponseTopic(name="t", partitions=[partition] * 110_000)
    body = encode(MetadataResponse(topics=[topic]), 13)
    read = read_message(MetadataResponse, 13, memoryview(body))
    assert len(read.topics[0].partitions) == 110_000  # more than MAX_ELEMENTS
