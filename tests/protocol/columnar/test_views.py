"""Views of slices of some buffers, in any order, are copied to the bytes of the slices."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.views import HAS_VIEWS, NUMBERS, copied, views_of
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
