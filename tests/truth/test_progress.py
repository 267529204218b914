from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.truth.progress import Sample, standstill


def samples(source: list[int], slowest: list[int]) -> list[Sample]:
    """One a second; the other copy has all."""
    return [
        Sample(second, of_source, {"slow": of_copy, "fast": of_source})
        for second, (of_source, of_copy) in enumerate(zip(source, slowest, strict=True))
    ]


@pytest.mark.parametrize(
    ("slowest", "begin", "seconds"),
    [
        ([0, 1, 2, 3, 4, 5], 0, 1),
        ([0, 1, 1, 1, 1, 5], 0, 4),
        ([0, 1, 1, 1, 1, 5], 3, 2),
        ([0, 0, 0, 0, 0, 0], 2, 3),
    ],
)
def test_the_longest_time_in_which_a_copy_got_nothing(
    slowest: list[int], begin: float, seconds: float
) -> None:
    assert standstill(samples([1, 2, 3, 4, 5, 6], slowest), begin) == seconds


def test_a_copy_that_has_all_does_not_stand_still() -> None:
    assert standstill(samples([7] * 6, [7] * 6), 0) == 1


def test_no_samples() -> None:
    assert standstill([], 0) == 0


@given(st.integers(1, 20), st.integers(1, 20))
def test_a_pause_is_as_long_as_it_was(before: int, pause: int) -> None:
    copy = [*range(before), *[before - 1] * pause, *range(before, before + 3)]
    source = [1_000] * len(copy)
    assert standstill(samples(source, copy), 0) == pause + 1
    assert standstill(samples(source, copy), before + pause) == 1
