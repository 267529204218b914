"""How long a copy got nothing; `tests.integration.test_chaos` plays whole rounds."""

from __future__ import annotations

import pytest

from tests.endurance.chaos.checks import COPIES
from tests.endurance.chaos.run import standstill
from tests.endurance.chaos.sinks import Sample


def samples(source: list[int], slowest: list[int]) -> list[Sample]:
    """One a second; the other copies have all."""
    return [
        Sample(second, of_source, dict.fromkeys(COPIES, of_source) | {"again": of_copy})
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
