"""Arrays with memory of their own have the values of numpy's, for each type."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kafka_protocol.columnar.arrow_memory import array_of, buffer_of, new_numbers
from tests.arrow_owners import borrowed_bytes

ROWS = 10_000
TYPES = [
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64(), pa.float32(),
    pa.float64(), pa.date32(), pa.time64("us"), pa.timestamp("us", tz="UTC"), pa.bool_(),
]  # fmt: skip


def expected(values: list[int], arrow_type: pa.DataType) -> pa.Array:
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


def test_a_buffer_of_rows() -> None:
    words = np.arange(6, dtype=np.int64).reshape(3, 2)
    assert buffer_of(words).to_pybytes() == words.tobytes()
    assert buffer_of(words[:0]).size == 0


def test_numbers_are_written_into_the_buffer() -> None:
    numbers, buffer = new_numbers(2, np.int32)
    numbers[:] = [1, 2]
    assert buffer.to_pybytes() == np.array([1, 2], np.int32).tobytes()
