"""Numbers at many positions at once, beside a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_formats.arrow.bytes_cursor import MAX_INT_BYTES, Cursor

# All with as many bits at the most: each number of bytes has code of its own.
NUMBERS = st.integers(1, 64).flatmap(
    lambda bits: st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=5)
)


def varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def cursor_of(*payloads: bytes) -> Cursor:
    data = np.frombuffer(b"".join(payloads) or b"\x00", dtype=np.uint8)
    sizes = np.array([len(each) for each in payloads], dtype=np.int64)
    end = np.cumsum(sizes)
    return Cursor(data, end - sizes, end, np.zeros(len(payloads), dtype=np.bool_))


@example([2**bits for bits in range(64)], b"")
@given(NUMBERS, st.binary(max_size=9))
def test_varints(values: list[int], rest: bytes) -> None:
    payloads = [*map(varint, values), rest]
    cursor = cursor_of(*payloads).select(np.arange(len(values)))
    assert cursor.varints().tolist() == values
    assert cursor.at.tolist() == cursor.end.tolist()
    cursor = cursor_of(*payloads).select(np.arange(len(values)))
    assert cursor.longs().tolist() == [(value >> 1) ^ -(value & 1) for value in values]
    cursor = cursor_of(*payloads).select(np.arange(len(values)))
    cursor.skip_longs()
    assert cursor.at.tolist() == cursor.end.tolist()
    assert not cursor.is_broken.any()


@pytest.mark.parametrize("rest", [b"", b"\x00" * 16], ids=["at the end", "within"])
def test_a_varint_with_too_many_bytes_is_broken(rest: bytes) -> None:
    payloads = b"\x80" * 10 + b"\x00", b"\x05", rest
    for read in (Cursor.varints, Cursor.longs, Cursor.skip_longs):
        cursor = cursor_of(*payloads)
        read(cursor)
        assert cursor.is_broken.tolist()[:2] == [True, False]
    cursor = cursor_of(b"\x80" * 5 + b"\x00", b"\x05", rest)
    cursor.varints(MAX_INT_BYTES)
    assert cursor.is_broken.tolist()[:2] == [True, False]
