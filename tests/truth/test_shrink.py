from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.truth.shrink import fewer, one_by_one, shrink

Items = tuple[int, ...]


@given(st.sets(st.integers(0, 99), max_size=40), st.data())
def test_only_what_the_failure_needs_is_left(items: set[int], data: st.DataObject) -> None:
    needed = data.draw(st.sets(st.sampled_from(sorted(items)), max_size=5)) if items else set()
    runs = []

    def fails(kept: Items) -> bool:
        runs.append(kept)
        return needed <= {*kept}

    smallest = shrink(tuple(sorted(items)), fewer, one_by_one(fails, 10_000))
    assert smallest == tuple(sorted(needed))
    # What is needed is tried twice at each size, and what is not once at most.
    assert len(runs) <= 2 * len(items) * (len(needed) + 2)


@pytest.mark.parametrize("fails", [True, False])
def test_the_number_of_runs_is_limited(fails: bool) -> None:
    runs = []

    def run(kept: Items) -> bool:
        runs.append(kept)
        return fails and bool(kept)

    shrink(tuple(range(64)), fewer, one_by_one(run, 5))
    assert len(runs) == 5


def test_many_candidates_may_be_tried_in_one_run() -> None:
    runs = []

    def last(candidates: Sequence[Items]) -> int | None:
        runs.append(len(candidates))
        failing = [place for place, each in enumerate(candidates) if 7 in each]
        return failing[-1] if failing else None

    assert shrink(tuple(range(8)), fewer, last) == (7,)
    assert runs[0] == 1 + 2 + 4 + 8


def test_after_a_success_the_search_goes_on_where_it_was() -> None:
    tried: list[Items] = []

    def fails(kept: Items) -> bool:
        tried.append(kept)
        return {0, 1} <= {*kept}

    items: Items = (0, 1, 2, 3)
    shrink(items, fewer, one_by_one(fails, 100))
    # Without all, or a half; then without single items.
    assert tried == [(), (2, 3), (0, 1), (0,), (), (1,)]


def test_parts_that_are_left_out_become_smaller() -> None:
    assert [*fewer("abcd")] == [
        *((), ("c", "d"), ("a", "b")),
        *(("b", "c", "d"), ("a", "c", "d"), ("a", "b", "d"), ("a", "b", "c")),
    ]
    assert [*fewer("a")] == [()]
    assert [*fewer("")] == []
