"""Fields of records joined in C++, in one copy or in two, are the fields joined one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.writing import Field, JoinedRecords, join_fields

COUNT = 4
# So that some examples are above the size from which records are joined in one copy.
SIZES = st.integers(0, 40) | st.integers(200, 600)
VALUES = st.none() | st.builds(lambda size, byte: bytes([byte]) * size, SIZES, st.integers(0, 255))


@st.composite
def fields(draw: st.DrawFn) -> Field:
    """A column that may be longer, a slice, and in another order; or one value for all records.

    It may have several arrays.
    """
    before, after = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    values = draw(
        st.lists(VALUES, min_size=before + COUNT + after, max_size=before + COUNT + after)
    )
    column = pa.array(values, pa.binary()).slice(before)
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(column)))
        column = pa.chunked_array([column.slice(0, cut), column.slice(cut)])
    rows = draw(
        st.integers(0, COUNT - 1)
        | st.just(np.arange(COUNT))
        | st.integers(0, after).map(lambda first: np.arange(first, first + COUNT))
        | st.permutations(range(COUNT)).map(np.array)
    )
    return Field(column, rows)


def one_by_one(fields: Sequence[Field]) -> list[bytes]:
    return [
        b"".join(
            column[rows if isinstance(rows, int) else int(rows[record])].as_py() or b""
            for column, rows in fields
        )
        for record in range(COUNT)
    ]


def records_of(joined: JoinedRecords) -> list[bytes]:
    data, starts = joined
    return [bytes(data[begin:end]) for begin, end in pairwise(starts)]


@given(st.lists(fields(), min_size=1, max_size=5))
def test_records_are_their_fields(given: list[Field]) -> None:
    # One column has a value for each record, as the numbers in front of a record are.
    given.append(Field(pa.array([b"%d" % each for each in range(COUNT)]), np.arange(COUNT)))
    assert records_of(join_fields(COUNT, given)) == one_by_one(given)


@pytest.mark.parametrize("size", [1, 1_000])
def test_no_records(size: int) -> None:
    column = pa.array([b"x" * size])
    assert records_of(join_fields(0, [Field(column, np.arange(0))])) == []


@pytest.mark.parametrize("rows", [[0, 1], [1, 0]], ids=["in order", "in another order"])
def test_large_records(rows: list[int]) -> None:
    values = [b"first" * 100, b"second" * 100]
    end = Field(pa.array([b"\n"]), 0)
    joined = join_fields(2, [Field(pa.array(values), np.array(rows)), end])
    assert records_of(joined) == [values[row] + b"\n" for row in rows]
