"""Scenarios that are made small, with failures that are known; `tests/truth` tests the search."""

from __future__ import annotations

from dataclasses import replace

from tests.simulation.drawing import draw
from tests.simulation.scenario import Scenario
from tests.simulation.shrink import shrink

SCENARIO = next(each for each in map(draw, range(100)) if len(each.faults) > 10)


def test_only_what_the_failure_needs_is_left() -> None:
    needed = (SCENARIO.faults[3], SCENARIO.faults[7])
    send = SCENARIO.sends[5]
    plain = Scenario(1)

    def fails(scenario: Scenario) -> bool:
        return {*map(repr, needed)} <= {*map(repr, scenario.faults)} and any(
            each.at_ms == send.at_ms for each in scenario.sends
        )

    smallest = shrink(replace(SCENARIO, source=SCENARIO.source | {"minPartitions": "3"}), fails)
    assert smallest.faults == needed
    assert [each.at_ms for each in smallest.sends] == [send.at_ms]
    assert all(part.length == 1 for part in smallest.sends[0].parts)
    assert "minPartitions" not in smallest.source
    assert smallest.source["startingOffsets"] == SCENARIO.source["startingOffsets"]
    assert (smallest.slots, smallest.trigger) == (plain.slots, plain.trigger)


def test_an_option_that_the_failure_needs_stays() -> None:
    scenario = replace(SCENARIO, source={"minPartitions": "3", "maxOffsetsPerTrigger": "9"})
    smallest = shrink(scenario, lambda each: "minPartitions" in each.source)
    assert smallest.source == {"minPartitions": "3"}
    assert not smallest.faults
    assert not smallest.sends
