"""Arrays have memory of their own and the values of numpy's, for each type; and back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.arrays.arrow_memory import (
    array_of,
    array_of_bools,
    array_of_bytes,
    bools_of,
    buffer_of,
    check_bytes,
    indices_of,
    is_valid,
    new_numbers,
    numbers_of,
    scalar_of,
)
from tests.arrow_owners import borrowed_bytes

ROWS = 10_000
TYPES = [
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64(), pa.float32(),
    pa.float64(), pa.date32(), pa.time64("us"), pa.timestamp("us", tz="UTC"), pa.bool_(),
]  # fmt: skip


NUMBER_TYPES = [each for each in TYPES if not pa.types.is_boolean(each)]
BYTES_TYPES = [pa.binary(), pa.string()]


def expected(values: list[int] | list[int | None], arrow_type: pa.DataType) -> pa.Array:
    """The array by Arrow's own conversions."""
    is_date = pa.types.is_date(arrow_type)
    return pa.array(values, pa.int32() if is_date else pa.int64()).cast(arrow_type)


@pytest.mark.parametrize("arrow_type", TYPES, ids=str)
@pytest.mark.parametrize("rows", [0, 1, ROWS])
def test_values_and_nulls(arrow_type: pa.DataType, rows: int) -> None:
    values = np.arange(rows) % (2 if pa.types.is_boolean(arrow_type) else 100)
    wanted = expected(values.tolist(), arrow_type)
    values = values.astype(np.bool_) if pa.types.is_boolean(arrow_type) else values
    assert array_of(values, arrow_type).equals(wanted)
    is_null = np.arange(rows) % 3 == 0
    with_nulls = array_of(values, arrow_type, is_null)
    assert with_nulls.is_null().to_pylist() == is_null.tolist()
    assert with_nulls.drop_null().equals(wanted.filter(pa.array(~is_null)))


@pytest.mark.parametrize("arrow_type", TYPES, ids=str)
def test_arrow_owns_the_memory(arrow_type: pa.DataType) -> None:
    values = np.ones(ROWS, np.bool_ if pa.types.is_boolean(arrow_type) else np.int64)
    assert borrowed_bytes(lambda: array_of(values, arrow_type, values == 0)) == 0


def test_numpys_memory_is_borrowed() -> None:
    """The check finds what it is for."""
    values = np.ones(ROWS, np.int64)
    assert borrowed_bytes(lambda: pa.array(values)) == values.nbytes
    assert borrowed_bytes(lambda: pa.array([bytes(ROWS)])) == 0
    assert borrowed_bytes(lambda: pa.StructArray.from_arrays([pa.array(values)], ["a"])) > 0


@given(values=st.lists(st.none() | st.binary(max_size=9)), kind=st.sampled_from(BYTES_TYPES))
def test_bytes_and_text(values: list[bytes | None], kind: pa.DataType) -> None:
    if pa.types.is_string(kind):
        values = [None if each is None else each.hex().encode() for each in values]
    made = array_of_bytes(values, kind)
    made.validate(full=True)
    assert made.type == kind
    assert made.cast(pa.binary()).to_pylist() == values
    assert [scalar_of(each, kind) for each in values] == [*made]
    assert borrowed_bytes(lambda: array_of_bytes(values, kind)) == 0


def test_more_bytes_than_offsets_can_express() -> None:
    check_bytes(2**31 - 1)
    with pytest.raises(pa.ArrowInvalid, match="2147483648 bytes do not fit"):
        check_bytes(2**31)


@given(values=st.lists(st.none() | st.booleans()), first=st.integers(0, 9))
def test_booleans_of_a_slice(values: list[bool | None], first: int) -> None:
    array = pa.array(values, pa.bool_())[first:]
    given_ = is_valid(array)
    assert given_.tolist() == [each is not None for each in values[first:]]
    assert bools_of(array)[given_].tolist() == [each for each in values[first:] if each is not None]
    assert array_of_bools(given_).to_pylist() == given_.tolist()
    assert is_valid(pa.nulls(len(values))).tolist() == [False] * len(values)


@pytest.mark.no_cover
@pytest.mark.parametrize("arrow_type", NUMBER_TYPES, ids=str)
@given(values=st.lists(st.none() | st.integers(0, 99)), first=st.integers(0, 9))
def test_numbers_of_a_slice(arrow_type: pa.DataType, values: list[int | None], first: int) -> None:
    array = expected(values, arrow_type)[first:]
    numbers = numbers_of(array)
    kept = [each for each in values[first:] if each is not None]
    assert numbers[is_valid(array)].tolist() == kept
    assert numbers.dtype.itemsize * 8 == arrow_type.bit_width


@given(values=st.lists(st.none() | st.decimals(-9, 9, places=2)), first=st.integers(0, 9))
def test_bytes_of_decimals(values: list[Decimal | None], first: int) -> None:
    for array in (pa.array(values, pa.decimal128(9, 2))[first:], pa.nulls(0, pa.decimal128(9, 2))):
        words = [int.from_bytes(each, "little", signed=True) for each in numbers_of(array).tolist()]
        given_ = [each for each in array.to_pylist() if each is not None]
        assert [each for each, kept in zip(words, is_valid(array), strict=True) if kept] == [
            int(each * 100) for each in given_
        ]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_rows_to_take(dtype: type[np.integer[Any]]) -> None:
    values = pa.array(["a", "b", "c"])
    assert values.take(indices_of(np.array([2, 0], dtype))).to_pylist() == ["c", "a"]


def test_a_buffer_of_rows() -> None:
    words = np.arange(6, dtype=np.int64).reshape(3, 2)
    assert buffer_of(words).to_pybytes() == words.tobytes()
    assert buffer_of(words[:0]).size == 0


def test_numbers_are_written_into_the_buffer() -> None:
    numbers, buffer = new_numbers(2, np.int32)
    numbers[:] = [1, 2]
    assert buffer.to_pybytes() == np.array([1, 2], np.int32).tobytes()
