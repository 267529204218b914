"""Wire types: golden bytes, round trips, and invalid bytes."""

from __future__ import annotations

import tracemalloc
import uuid
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import DecodeError, EncodeError
from kafka_protocol.wire import primitives as p
from kafka_protocol.wire.primitives import Out, Reader, Writer

Pair: TypeAlias = "tuple[Reader[Any], Writer[Any]]"

INT8: Pair = p.read_int8, p.write_int8
INT16: Pair = p.read_int16, p.write_int16
INT32: Pair = p.read_int32, p.write_int32
INT64: Pair = p.read_int64, p.write_int64
UINT16: Pair = p.read_uint16, p.write_uint16
UINT32: Pair = p.read_uint32, p.write_uint32
FLOAT64: Pair = p.read_float64, p.write_float64
BOOLEAN: Pair = p.read_boolean, p.write_boolean
UUID: Pair = p.read_uuid, p.write_uuid
UNSIGNED_VARINT: Pair = p.read_unsigned_varint, p.write_unsigned_varint
VARINT: Pair = p.read_varint, p.write_varint
VARLONG: Pair = p.read_varlong, p.write_varlong
STRING: Pair = p.read_nullable_string, p.write_nullable_string
COMPACT_STRING: Pair = p.read_compact_nullable_string, p.write_compact_nullable_string
BYTES: Pair = p.read_nullable_bytes, p.write_nullable_bytes
COMPACT_BYTES: Pair = p.read_compact_nullable_bytes, p.write_compact_nullable_bytes
ARRAY_LENGTH: Pair = p.read_array_length, p.write_array_length
COMPACT_LENGTH: Pair = p.read_compact_length, p.write_compact_length

# Type, value and bytes, for both the writer and the reader.
GOLDEN: list[tuple[Pair, Any, bytes]] = [
    (INT8, 0, b"\x00"),
    (INT8, -1, b"\xff"),
    (INT8, 127, b"\x7f"),
    (INT8, -128, b"\x80"),
    (INT16, 1, b"\x00\x01"),
    (INT16, -2, b"\xff\xfe"),
    (INT32, 0x01020304, b"\x01\x02\x03\x04"),
    (INT32, -(2**31), b"\x80\x00\x00\x00"),
    (INT64, 0x0102030405060708, b"\x01\x02\x03\x04\x05\x06\x07\x08"),
    (INT64, -1, b"\xff" * 8),
    (UINT16, 65535, b"\xff\xff"),
    (UINT32, 2**32 - 1, b"\xff\xff\xff\xff"),
    (FLOAT64, 1.0, b"\x3f\xf0\x00\x00\x00\x00\x00\x00"),
    (FLOAT64, -0.5, b"\xbf\xe0\x00\x00\x00\x00\x00\x00"),
    (BOOLEAN, False, b"\x00"),
    (BOOLEAN, True, b"\x01"),
    (UUID, uuid.UUID("00010203-0405-0607-0809-0a0b0c0d0e0f"), bytes(range(16))),
    (UUID, p.ZERO_UUID, bytes(16)),
    (UNSIGNED_VARINT, 0, b"\x00"),
    (UNSIGNED_VARINT, 127, b"\x7f"),
    (UNSIGNED_VARINT, 128, b"\x80\x01"),
    (UNSIGNED_VARINT, 300, b"\xac\x02"),
    (UNSIGNED_VARINT, 2**32 - 1, b"\xff\xff\xff\xff\x0f"),
    (VARINT, 0, b"\x00"),
    (VARINT, -1, b"\x01"),
    (VARINT, 1, b"\x02"),
    (VARINT, -64, b"\x7f"),
    (VARINT, 64, b"\x80\x01"),
    (VARINT, 2**31 - 1, b"\xfe\xff\xff\xff\x0f"),
    (VARINT, -(2**31), b"\xff\xff\xff\xff\x0f"),
    (VARLONG, 0, b"\x00"),
    (VARLONG, -1, b"\x01"),
    (VARLONG, 2**63 - 1, b"\xfe" + b"\xff" * 8 + b"\x01"),
    (VARLONG, -(2**63), b"\xff" * 9 + b"\x01"),
    (STRING, None, b"\xff\xff"),
    (STRING, "", b"\x00\x00"),
    (STRING, "a\u00e9", b"\x00\x03a\xc3\xa9"),
    (COMPACT_STRING, None, b"\x00"),
    (COMPACT_STRING, "", b"\x01"),
    (COMPACT_STRING, "abc", b"\x04abc"),
    (COMPACT_STRING, "x" * 127, b"\x80\x01" + b"x" * 127),
    (BYTES, None, b"\xff\xff\xff\xff"),
    (BYTES, b"", b"\x00\x00\x00\x00"),
    (BYTES, b"\x00\xff", b"\x00\x00\x00\x02\x00\xff"),
    (COMPACT_BYTES, None, b"\x00"),
    (COMPACT_BYTES, b"", b"\x01"),
    (COMPACT_BYTES, b"\x00\xff", b"\x03\x00\xff"),
    (ARRAY_LENGTH, None, b"\xff\xff\xff\xff"),
    (ARRAY_LENGTH, 0, b"\x00\x00\x00\x00"),
    (COMPACT_LENGTH, None, b"\x00"),
    (COMPACT_LENGTH, 0, b"\x01"),
]


def written(pair: Pair, value: Any) -> bytes:
    out: Out = []
    pair[1](out, value)
    return b"".join(out)


@pytest.mark.parametrize(("pair", "value", "data"), GOLDEN)
def test_written_and_read(pair: Pair, value: Any, data: bytes) -> None:
    """A reader ignores the bytes around, and sees at every byte that the value is cut."""
    assert written(pair, value) == data
    surrounded = memoryview(b"\x55" * 3 + data + b"\xaa" * 5)
    assert pair[0](surrounded, 3) == (value, 3 + len(data))
    for end in range(len(data)):
        with pytest.raises(DecodeError):
            pair[0](memoryview(data[:end]), 0)


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


ROUND_TRIPS: dict[str, tuple[Pair, st.SearchStrategy[Any]]] = {
    "int8": (INT8, integers(8)),
    "int16": (INT16, integers(16)),
    "int32": (INT32, integers(32)),
    "int64": (INT64, integers(64)),
    "uint16": (UINT16, st.integers(0, 2**16 - 1)),
    "uint32": (UINT32, st.integers(0, 2**32 - 1)),
    "float64": (FLOAT64, st.floats(allow_nan=False)),
    "boolean": (BOOLEAN, st.booleans()),
    "uuid": (UUID, st.uuids(allow_nil=True)),
    "unsigned varint": (UNSIGNED_VARINT, st.integers(0, 2**32 - 1)),
    "varint": (VARINT, integers(32)),
    "varlong": (VARLONG, integers(64)),
    "string": (STRING, st.none() | st.text()),
    "compact string": (COMPACT_STRING, st.none() | st.text()),
    "bytes": (BYTES, st.none() | st.binary()),
    "compact bytes": (COMPACT_BYTES, st.none() | st.binary()),
}


@pytest.mark.parametrize("kind", ROUND_TRIPS)
@given(data=st.data())
def test_round_trip(kind: str, data: st.DataObject) -> None:
    pair, values = ROUND_TRIPS[kind]
    value = data.draw(values)
    encoded = written(pair, value)
    assert pair[0](memoryview(encoded + b"rest"), 0) == (value, len(encoded))


@pytest.mark.parametrize("kind", ROUND_TRIPS)
@given(data=st.binary(max_size=24), start=st.integers(0, 30))
def test_fault_15_arbitrary_bytes_give_a_value_or_a_decode_error(
    kind: str, data: bytes, start: int
) -> None:
    read = ROUND_TRIPS[kind][0][0]
    try:
        _, end = read(memoryview(data), start)
    except DecodeError:
        return
    assert start <= end <= len(data)


def test_payload_is_a_view_of_the_frame() -> None:
    frame = bytearray(b"\x00\x00\x00\x02ab")
    value, _ = p.read_nullable_bytes(memoryview(frame), 0)
    frame[4:6] = b"xy"
    assert value is not None
    assert bytes(value) == b"xy"


def test_payload_is_written_without_a_copy() -> None:
    payload = bytearray(b"payload")
    out: Out = []
    p.write_nullable_bytes(out, payload)
    assert out[-1] is payload


@pytest.mark.parametrize("byte", [b"\x02", b"\x80", b"\xff"])
def test_every_nonzero_byte_is_true(byte: bytes) -> None:
    assert p.read_boolean(memoryview(byte), 0) == (True, 1)


# --- Invalid bytes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "data"),
    [
        (p.read_unsigned_varint, b"\x80" * 5 + b"\x00"),  # a sixth byte
        (p.read_unsigned_varint, b"\xff" * 5),
        (p.read_unsigned_varint, b"\xff\xff\xff\xff\x10"),  # 33 bits
        (p.read_varint, b"\x80" * 5 + b"\x00"),
        (p.read_varint, b"\xff\xff\xff\xff\x1f"),
        (p.read_varlong, b"\x80" * 10 + b"\x00"),  # an eleventh byte
        (p.read_varlong, b"\xff" * 9 + b"\x02"),  # 65 bits
    ],
)
def test_fault_15_varint_that_is_too_long(read: Reader[int], data: bytes) -> None:
    with pytest.raises(DecodeError, match="varint"):
        read(memoryview(data), 0)


def test_varint_may_be_padded() -> None:
    assert p.read_unsigned_varint(memoryview(b"\x81\x00"), 0) == (1, 2)


# The length, and 4 bytes after it.
BOMBS: list[tuple[Reader[Any], bytes]] = [
    (p.read_nullable_string, b"\x7f\xff"),
    (p.read_nullable_string, b"\x00\x05"),
    (p.read_nullable_string, b"\xff\xfe"),  # -2
    (p.read_nullable_bytes, b"\x7f\xff\xff\xff"),
    (p.read_nullable_bytes, b"\x00\x00\x00\x05"),
    (p.read_nullable_bytes, b"\x80\x00\x00\x00"),
    (p.read_array_length, b"\x7f\xff\xff\xff"),
    (p.read_array_length, b"\xff\xff\xff\xfe"),
    (p.read_compact_nullable_string, b"\xff\xff\xff\xff\x0f"),
    (p.read_compact_nullable_string, b"\x06"),  # 5 characters
    (p.read_compact_nullable_bytes, b"\xff\xff\xff\xff\x0f"),
    (p.read_compact_length, b"\x80\x80\x80\x80\x08"),
]


@pytest.mark.parametrize(("read", "announced"), BOMBS)
def test_fault_15_huge_length_is_rejected_before_allocation(
    read: Reader[Any], announced: bytes
) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError, match=r"of length -?\d+ with 4 bytes left"):
            read(memoryview(announced + b"1234"), 0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize(
    ("read", "data"),
    [
        (p.read_nullable_string, b"\x00\x02\xff\xfe"),
        (p.read_nullable_string, b"\x00\x01\xc3"),  # half a character
        (p.read_compact_nullable_string, b"\x04\xed\xa0\x80"),  # a surrogate
    ],
)
def test_string_that_is_not_utf8(read: Reader[str | None], data: bytes) -> None:
    with pytest.raises(DecodeError, match="is not UTF-8"):
        read(memoryview(data), 0)


# --- Values that do not fit --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        (INT8, 128),
        (INT8, -129),
        (INT16, 2**15),
        (INT32, 2**31),
        (INT64, 2**63),
        (INT64, -(2**63) - 1),
        (UINT16, -1),
        (UINT32, 2**32),
        (INT32, "7"),
        (INT32, None),
        (UNSIGNED_VARINT, -1),
        (UNSIGNED_VARINT, 2**32),
        (VARINT, 2**31),
        (VARINT, -(2**31) - 1),
        (VARLONG, 2**63),
        (VARLONG, -(2**63) - 1),
        (STRING, "x" * 2**15),
        (STRING, "\ud800"),
        (COMPACT_STRING, "\udfff"),
    ],
)
def test_value_that_does_not_fit(pair: Pair, value: Any) -> None:
    with pytest.raises(EncodeError):
        written(pair, value)


def test_longest_classic_string() -> None:
    longest = "x" * (2**15 - 1)
    encoded = written(STRING, longest)
    assert p.read_nullable_string(memoryview(encoded), 0) == (longest, 2 + 2**15 - 1)
