"""numpy's varints equal those of `primitives`, value by value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_protocol.columnar.arrays.varints import (
    MAX_VARINT_BYTES,
    MAX_VARLONG_BYTES,
    read_varints,
    skip_varints,
    varint_sizes,
    write_varints,
)
from kafka_protocol.errors import DecodeError
from kafka_protocol.wire import primitives
from kafka_protocol.wire.primitives import Out

INT64 = st.integers(-(2**63), 2**63 - 1)
# All with as many bits at the most: each number of bytes has code of its own.
NUMBERS = st.integers(0, 63).flatmap(
    lambda bits: st.lists(st.integers(-(2**bits), 2**bits - 1), min_size=1, max_size=50)
)
ROWS = st.lists(st.tuples(INT64, INT64), min_size=1, max_size=50)


def reference(values: list[int]) -> list[bytes]:
    encoded = []
    for value in values:
        out: Out = []
        primitives.write_varlong(out, value)
        encoded.append(bytes(out[0]))
    return encoded


@given(rows=ROWS)
def test_write_equals_the_reference(rows: list[tuple[int, int]]) -> None:
    columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
    data, offsets = write_varints(*columns)
    expected = [b"".join(reference([*row])) for row in rows]
    assert data.tobytes() == b"".join(expected)
    assert np.diff(offsets).tolist() == [len(row) for row in expected]


@example(values=[2**bits for bits in range(63)])
@given(values=NUMBERS)
def test_read_equals_the_reference(values: list[int]) -> None:
    encoded = reference(values)
    sizes = np.array([len(e) for e in encoded], dtype=np.int64)
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    positions = np.cumsum(sizes) - sizes
    read, after = read_varints(data, positions, MAX_VARLONG_BYTES)
    assert read.tolist() == values
    assert after.tolist() == (positions + sizes).tolist()
    assert skip_varints(data, positions, MAX_VARLONG_BYTES).tolist() == after.tolist()
    assert varint_sizes(np.array(values, dtype=np.int64)).tolist() == sizes.tolist()


def test_skip_varints_of_one_and_of_two_bytes() -> None:
    data = np.frombuffer(b"\x01\x80\x01\x02", dtype=np.uint8)
    assert skip_varints(data, np.array([0, 1, 3])).tolist() == [1, 3, 4]
    assert skip_varints(data, np.array([0, 3])).tolist() == [1, 4]


def test_write_no_values() -> None:
    data, offsets = write_varints(np.array([], dtype=np.int64))
    assert (len(data), offsets.tolist()) == (0, [0])


@pytest.mark.parametrize("max_bytes", [MAX_VARINT_BYTES, MAX_VARLONG_BYTES])
def test_fault_15_endless_varint(max_bytes: int) -> None:
    data = np.frombuffer(b"\x00" + b"\xff" * 30, dtype=np.uint8)
    with pytest.raises(DecodeError, match=f"longer than {max_bytes} bytes"):
        read_varints(data, np.array([0, 1]), max_bytes)
    with pytest.raises(DecodeError, match=f"longer than {max_bytes} bytes"):
        skip_varints(data, np.array([0, 1]), max_bytes)
