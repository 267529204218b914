from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.arrays.grouping import grouped, stable_order

few_numbers = st.lists(st.integers(0, 5), max_size=60)
any_numbers = st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 3), max_size=30)


@given(few_numbers | any_numbers)
def test_groups_keep_the_order_of_their_rows(numbers: list[int]) -> None:
    expected = defaultdict(list)
    for row, number in enumerate(numbers):
        expected[number].append(row)
    groups = grouped(np.array(numbers, dtype=np.int32))
    assert {number: rows.tolist() for number, rows in groups.rows()} == expected
    assert len(groups.numbers) == len(expected)


@pytest.mark.parametrize("numbers", [[], [7], [7, 7, 7], [1, 1, 2, 5, 5], [5, 2, 2, 70_000, 1, 1]])
def test_grouped_rows_are_not_reordered(numbers: list[int]) -> None:
    assert grouped(np.array(numbers, dtype=np.int64)).order.tolist() == [*range(len(numbers))]


@given(few_numbers | any_numbers | st.lists(st.integers(65_530, 65_540)))
def test_stable_order(numbers: list[int]) -> None:
    order = stable_order(np.array(numbers, dtype=np.int64))
    assert order.tolist() == sorted(range(len(numbers)), key=numbers.__getitem__)
