"""Views of slices of some buffers, in any order, are copied to the bytes of the slices."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.arrays.views import (
    HAS_VIEWS,
    NUMBERS,
    check_binary_size,
    copied,
    is_view,
    shown_bytes,
    views_of,
)
from tests.arrow_owners import borrowed_bytes

pytestmark = pytest.mark.skipif(not HAS_VIEWS, reason="pyarrow 18 makes no views")

BUFFERS = [np.random.default_rng(seed).bytes(size) for seed, size in enumerate((40, 13, 3))]
# A buffer, and where a slice of it begins and ends: with up to 12 bytes, or more.
SLICES = st.sampled_from(range(len(BUFFERS))).flatmap(
    lambda number: st.tuples(
        st.just(number),
        st.lists(st.integers(0, len(BUFFERS[number])), min_size=2, max_size=2).map(sorted),
    )
)


@given(st.lists(SLICES))
def test_slices_of_several_buffers(slices: list[tuple[int, list[int]]]) -> None:
    views = np.empty((len(slices), NUMBERS), np.int32)
    for i, (number, (start, end)) in enumerate(slices):
        sizes = np.array([end - start])
        views[i] = views_of(BUFFERS[number], np.array([start]), sizes, number)
    values = copied(views, BUFFERS)
    values.validate(full=True)
    assert values.type == pa.binary()
    assert values.to_pylist() == [BUFFERS[number][a:b] for number, (a, b) in slices]


def test_copies_own_their_memory() -> None:
    start = np.arange(0, 40, 20)
    sizes = np.array([20, 5])
    assert borrowed_bytes(lambda: copied(views_of(BUFFERS[0], start, sizes), BUFFERS[:1])) == 0


MEGABYTE = 2**20


def large_views(kind: pa.DataType, count: int = 2_048) -> pa.Array:
    """Views of a megabyte each, all of the same bytes, and nulls at both ends."""
    views = views_of(bytes(MEGABYTE), np.zeros(count, np.int64), np.full(count, MEGABYTE))
    nulls = pa.nulls(1, kind)
    shared = pa.Array.from_buffers(
        kind, count, [None, pa.py_buffer(views), pa.py_buffer(bytes(MEGABYTE))]
    )
    return pa.concat_arrays([nulls, shared, nulls])


def test_more_than_a_binary_array_can_have() -> None:
    views = views_of(bytes(MEGABYTE), np.zeros(2_048, np.int64), np.full(2_048, MEGABYTE))
    with pytest.raises(pa.ArrowInvalid, match="2147483648 bytes do not fit"):
        copied(views, [bytes(MEGABYTE)])


@pytest.mark.parametrize("kind", [pa.binary_view(), pa.string_view()])
def test_views_of_more_than_a_binary_array_can_have(kind: pa.DataType) -> None:
    values = large_views(kind)
    assert shown_bytes(values) == 2**31
    assert shown_bytes(values.slice(2, 3)) == 3 * MEGABYTE
    assert shown_bytes(values.slice(0, 0)) == 0
    with pytest.raises(pa.ArrowInvalid, match="2147483648 bytes do not fit"):
        check_binary_size(values)
    check_binary_size(values.slice(2))


def test_other_arrays_are_left_to_arrow() -> None:
    check_binary_size(pa.array(["text"], pa.large_string()))
    assert not is_view(pa.string())
