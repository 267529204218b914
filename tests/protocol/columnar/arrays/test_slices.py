"""Slices of a buffer become binary arrays, by views and by a filter, and have their lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.arrays import slices
from kafka_protocol.columnar.arrays.slices import lengths, take_slices
from kafka_protocol.columnar.arrays.views import HAS_VIEWS
from tests.arrow_owners import borrowed_bytes

# What Arrow keeps in a view, and one more.
EDGES = [0, 1, 4, 5, 11, 12, 13, 64]
# The gap before a value, and its length; -1 for null.
PIECES = st.lists(st.tuples(st.integers(0, 3), st.one_of(st.just(-1), st.sampled_from(EDGES))))
WAYS = [
    pytest.param(
        "_copy_views",
        marks=pytest.mark.skipif(not HAS_VIEWS, reason="pyarrow 18 makes no views"),
    ),
    "_filter_gaps",
]


def laid_out(pieces: Sequence[tuple[int, int]]) -> tuple[bytes, Any, Any, list[bytes | None]]:
    """A buffer with the pieces, their starts and lengths, and the expected values."""
    start, length, values = [], [], []
    pos = 0
    for gap, size in pieces:
        pos += gap
        start.append(pos)
        length.append(size)
        pos += max(size, 0)
    data = np.random.default_rng(pos).bytes(pos)
    for begin, size in zip(start, length, strict=True):
        values.append(None if size < 0 else data[begin : begin + size])
    return data, np.array(start, np.int64), np.array(length, np.int64), values


@pytest.mark.parametrize("way", WAYS)
@given(pieces=PIECES)
def test_values_and_nulls(way: str, pieces: list[tuple[int, int]]) -> None:
    data, start, length, values = laid_out(pieces)
    take: Callable[..., pa.Array] = getattr(slices, way)
    taken = take(data, start, np.maximum(length, 0), length < 0)
    taken.validate(full=True)
    assert taken.type == pa.binary()
    assert taken.to_pylist() == values


@pytest.mark.parametrize("size", [0, 7, 63, 64, 10_000])
@pytest.mark.parametrize("every", [0, 1, 3])
def test_any_size_is_taken(size: int, every: int) -> None:
    """With no nulls, only nulls, and a null in each three."""
    rows = 2_000
    data, start, length, values = laid_out(
        [(2, -1 if every and row % every == 0 else size) for row in range(rows)]
    )
    assert take_slices(data, start, length).to_pylist() == values
    assert take_slices(memoryview(data), start, length).to_pylist() == values
    assert borrowed_bytes(lambda: take_slices(data, start, length)) == 0


@given(
    parts=st.lists(st.lists(st.none() | st.binary(max_size=20))),
    first=st.integers(0, 3),
    last=st.integers(0, 3),
)
def test_lengths_of_a_column(parts: list[list[bytes | None]], first: int, last: int) -> None:
    """Of parts of arrays, one after the other; a null may have bytes."""
    arrays = [with_bytes_in_nulls(part)[first : max(len(part) - last, 0)] for part in parts]
    column = pa.chunked_array(arrays, pa.binary())
    expected = [-1 if each is None else len(each) for each in column.to_pylist()]
    assert lengths(column).tolist() == expected
    assert [size for each in arrays for size in lengths(each)] == expected
    assert lengths(column).dtype == np.int64


def with_bytes_in_nulls(values: Sequence[bytes | None]) -> pa.Array:
    full = pa.array([b"null" if each is None else each for each in values], pa.binary())
    valid = pa.array([each is not None for each in values], pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(pa.binary(), len(values), [valid, *full.buffers()[1:]])
