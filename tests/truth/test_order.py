from __future__ import annotations

import random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.truth.order import out_of_order


class Row(NamedTuple):
    topic: str
    partition: int
    offset: int


places = st.lists(
    st.builds(Row, st.sampled_from("ab"), st.integers(0, 1), st.integers(0, 9)), unique=True
)


@given(places, st.randoms(use_true_random=False))
def test_partitions_may_be_mixed_in_any_way(rows: list[Row], chance: random.Random) -> None:
    chance.shuffle(rows)
    in_order = sorted(rows, key=lambda row: row.offset)
    assert [*out_of_order(in_order)] == []
    assert bool([*out_of_order(rows)]) == any(
        [each for each in rows if each[:2] == place] != [r for r in in_order if r[:2] == place]
        for place in {row[:2] for row in rows}
    )


@pytest.mark.parametrize(("offsets", "kind"), [((3, 4, 4), "twice"), ((3, 4, 1, 7), "reordered")])
def test_the_row_and_the_one_before_it_are_told(offsets: tuple[int, ...], kind: str) -> None:
    rows = [Row("t", 0, each) for each in offsets]
    assert [*out_of_order(rows)] == [(kind, rows[1], rows[2])]
