"""Fields of records joined in C++, in one copy or in two, are the fields joined one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.arrays.views import HAS_VIEWS
from kafka_protocol.columnar.writing import joining
from kafka_protocol.columnar.writing.joining import Field, JoinedRecords, join_fields

COUNT = 4
# Most columns of the second are large enough for one copy.
SIZES = [st.none() | st.integers(0, 40), st.sampled_from([None, 0, 13, 1_500, 3_000])]


def values(sizes: st.SearchStrategy[int | None]) -> st.SearchStrategy[bytes | None]:
    return st.builds(_value, sizes, st.integers(0, 255))


def _value(size: int | None, byte: int) -> bytes | None:
    return None if size is None else bytes([byte]) * size


@st.composite
def fields(draw: st.DrawFn) -> Field:
    """A column that may be longer, a slice, and in another order; or one value for all records.

    It may have several arrays.
    """
    before, after = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    length = before + COUNT + after
    one = values(draw(st.sampled_from(SIZES)))
    drawn = draw(st.lists(one, min_size=length, max_size=length))
    column = pa.array(drawn, pa.binary()).slice(before)
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


# A number for each record, as in front of records, and large values in another order.
NUMBERS = Field(pa.array([b"%d" % each for each in range(COUNT)]), np.arange(COUNT))
SCATTERED = Field(
    pa.array([b"abcd"[i : i + 1] * 3_000 for i in range(COUNT)]), np.array([2, 0, 3, 1])
)


@pytest.mark.no_cover
@pytest.mark.parametrize("has_views", sorted({HAS_VIEWS, False}))
@pytest.mark.parametrize("large", [[], [SCATTERED]], ids=["any", "a large one"])
@given(given=st.lists(fields(), min_size=1, max_size=5), place=st.integers(0, 5))
def test_records_are_their_fields(
    has_views: bool, large: list[Field], given: list[Field], place: int
) -> None:
    given[place:place] = [NUMBERS, *large]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joining, "HAS_VIEWS", has_views)
        assert records_of(join_fields(COUNT, given)) == one_by_one(given)


@pytest.mark.parametrize("size", [1, 1_000])
def test_no_records(size: int) -> None:
    column = pa.array([b"x" * size])
    assert records_of(join_fields(0, [Field(column, np.arange(0))])) == []


@pytest.mark.parametrize("rows", [[0, 1], [1, 0]], ids=["in order", "in another order"])
@pytest.mark.parametrize("is_ended", [True, False], ids=["with a small field", "of large fields"])
def test_large_records(rows: list[int], is_ended: bool) -> None:
    values = [b"first" * 200, b"second" * 200]
    ends = [Field(pa.array([b"\n"]), 0)] * is_ended
    joined = join_fields(2, [Field(pa.array(values), np.array(rows)), *ends])
    assert records_of(joined) == [values[row] + b"\n" * is_ended for row in rows]


def test_a_part_of_a_large_column_without_values() -> None:
    values = pa.chunked_array([pa.array([b"x" * 2_000, b"y" * 2_000]), pa.nulls(1, pa.binary())])
    end = Field(pa.array([b"\n"]), 0)
    joined = join_fields(3, [Field(values, np.array([2, 1, 0])), end])
    assert records_of(joined) == [b"\n", b"y" * 2_000 + b"\n", b"x" * 2_000 + b"\n"]
