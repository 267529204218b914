"""Faults that take records away, in a small world: they happen, and are judged by what is left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.campaign import problems_of
from tests.simulation.outcome import Outcome
from tests.simulation.run import run
from tests.simulation.scenario import INPUT, Fault, Part, Scenario, Send, Topic

SMALL = Scenario(
    seed=3,
    topics=(Topic(INPUT, 1, 3),),
    sends=tuple(
        Send(400.0 * number, "producer-0", "plain", (Part(INPUT, 0, 20 * number, 20),))
        for number in range(20)
    ),
    source={"startingOffsets": "earliest", "failOnDataLoss": "false"},
    begin_ms=3_000.0,
)


def with_fault(kind: str, at_ms: float, for_ms: float = 0.0, **arguments: Any) -> Scenario:
    return replace(SMALL, faults=(Fault(at_ms, kind, for_ms, arguments),))


def outcome_of(scenario: Scenario) -> Outcome:
    outcome, _ = run(scenario)
    return outcome


@pytest.mark.parametrize("config", [{"retention.ms": "1000"}, {"retention.bytes": "2000"}])
def test_retention(config: dict[str, str]) -> None:
    scenario = with_fault("retention", 2_900.0, config=config)
    outcome = outcome_of(scenario)
    assert outcome.starts[INPUT, 0] > 0
    assert len(outcome.logs[INPUT, 0]) == 400, "the judge knows what was deleted"
    assert problems_of(scenario) == []


def test_an_unclean_election_loses_acknowledged_records() -> None:
    """Whoever had read them continues in a log that has other records."""
    lost = {}
    for node in (1, 2, 3):
        scenario = with_fault("unclean election", 4_000.0, 1_000.0, partition=0, node=node)
        outcome = outcome_of(scenario)
        sent = {each.value for each in outcome.sent}
        lost[node] = sent - {each.value for each in outcome.logs[INPUT, 0][-300:]}
        assert problems_of(scenario) == []
    assert any(lost.values())


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("fails", ["true", "false"])
def test_a_topic_that_is_created_again(partitions: int, fails: str) -> None:
    scenario = with_fault("recreate topic", 5_000.0, partitions=partitions)
    scenario = replace(scenario, source=scenario.source | {"failOnDataLoss": fails})
    outcome = outcome_of(scenario)
    assert outcome.is_stuck == (fails == "true")
    assert (INPUT, partitions - 1) in outcome.logs
    assert problems_of(scenario) == []


def test_a_name_that_cannot_be_resolved_for_a_while() -> None:
    arguments = {"hosts": ["driver"], "nodes": [1, 2, 3]}
    scenario = with_fault("lose name", 2_000.0, 5_000.0, **arguments)
    _, trace = run(scenario)
    reached = [e.at_ms for e in trace if e.what == "connects to" and "reader" in e.who]
    assert min(reached) >= 7_000
    assert problems_of(scenario) == []
