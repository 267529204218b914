from __future__ import annotations

from collections import Counter
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from tests.endurance.chaos.faults import FAULTS
from tests.endurance.chaos.schedule import rounds

seeds = st.integers(0, 10**9)


@given(seeds)
def test_a_seed_repeats_the_rounds(seed: int) -> None:
    first, second = (list(islice(rounds(seed), 40)) for _ in range(2))
    assert first == second


def test_other_seeds_give_other_rounds() -> None:
    assert len({next(rounds(seed)) for seed in range(20)}) == 20


@given(seeds)
def test_each_fault_comes_as_often_as_the_others(seed: int) -> None:
    counts: Counter[str] = Counter()
    for each in rounds(seed):
        counts.update(fault.name for fault in each.faults)
        if counts.total() == 3 * len(FAULTS):
            break
    assert counts == {fault.name: 3 for fault in FAULTS}


@given(seeds)
def test_faults_of_a_round_have_different_places(seed: int) -> None:
    for each in islice(rounds(seed), 40):
        assert len({fault.place for fault in each.faults}) == len(each.faults) <= 2
