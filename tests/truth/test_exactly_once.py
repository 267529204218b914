"""Good writes, and each way in which one can be wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.truth.exactly_once import Write, wrong_writes


def problems(
    copies: list[int], *later: int, is_once: bool = True, is_done: bool = True
) -> list[str]:
    """A write of three rows, each so often in the log; then perhaps another one of one row."""
    writes = [Write("1", ["a", "b", "c"], is_once, is_done)]
    writes += [Write("2", ["later"], is_once, True)] * len(later)
    rows = [row for row, times in zip("abcx", copies, strict=False) for _ in range(times)]
    return [*wrong_writes(writes, [*rows, *(["later"] * sum(later))])]


@pytest.mark.parametrize(
    "found",
    [
        problems([1, 2, 1], is_once=False),
        problems([0, 1, 0], is_once=False, is_done=False),
        problems([1, 1, 1]),
        problems([0, 0, 0], is_done=False),
        problems([0, 1, 1], is_done=False),
        problems([1, 1, 1], 1, is_done=False),
        problems([0, 0, 0], 1, is_done=False),
    ],
)
def test_good_writes(found: list[str]) -> None:
    assert found == []


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (problems([1, 0, 1], is_once=False), "1: 1 of 3 rows are not written"),
        (problems([1, 0, 1]), "1: rows are written [0, 1] times, and not once"),
        (problems([1, 2, 1]), "1: rows are written [1, 2] times, and not once"),
        (problems([0, 1, 1], 1, is_done=False), "1 failed, and is visible in part"),
        (problems([1, 1, 1], 2), "2: rows are written [2] times, and not once"),
        (problems([1, 1, 1, 1], is_once=False), "1 records are unknown, as 'x'"),
    ],
)
def test_bad_writes(found: list[str], reason: str) -> None:
    assert found == [reason]


@given(st.lists(st.integers(0, 2), min_size=3, max_size=3), st.booleans())
def test_what_a_write_promises(copies: list[int], is_once: bool) -> None:
    is_right = copies == [1, 1, 1] if is_once else all(copies)
    assert (problems(copies, is_once=is_once) == []) == is_right
