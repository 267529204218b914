"""Scenarios are plain data, and the same for each seed."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.simulation.drawing import draw
from tests.simulation.faults import KINDS
from tests.simulation.scenario import from_json


@pytest.mark.parametrize("seed", range(20))
def test_a_scenario_survives_json(seed: int) -> None:
    scenario = draw(seed)
    assert from_json(scenario.to_json()) == scenario == draw(seed)


def test_each_kind_of_fault_and_each_sink_is_drawn() -> None:
    scenarios = [*map(draw, range(300))]
    faults = Counter(fault.kind for each in scenarios for fault in each.faults)
    assert faults.keys() == KINDS.keys()
    assert {each.sink for each in scenarios} == {"files", "at least once", "exactly once"}
    assert {each.interface for each in scenarios} == {"4.0", "4.2"}
    assert any(not each.faults for each in scenarios)


def test_records_are_numbered_without_gaps() -> None:
    for scenario in map(draw, range(10)):
        numbers: Counter[int] = Counter()
        parts = [part for send in scenario.sends for part in send.parts]
        for part in sorted(parts, key=lambda each: each.first):
            # Not those of added partitions, nor of transactions beside each other.
            if part.partition < 6 and part.first < 10_000:
                assert part.first == numbers[part.partition]
                numbers[part.partition] += part.length
        assert numbers.total() == 2_000
        places = [(p.topic, p.partition, p.first + n) for p in parts for n in range(p.length)]
        assert len({*places}) == len(places)
