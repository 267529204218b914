"""The judge of plans: micro-batches are the same again, and not larger than their limits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.simulation.judge_plans import limit_violations, plan_violations
from tests.simulation.outcome import Outcome
from tests.simulation.scenario import INPUT
from tests.simulation.test_judge import good


def with_source(**options: str) -> Outcome:
    outcome = good()
    outcome.scenario = replace(outcome.scenario, source=outcome.scenario.source | options)
    return outcome


def test_a_micro_batch_that_is_another_one_when_it_is_planned_again() -> None:
    outcome = good()
    assert [*plan_violations(outcome)] == []
    first, again, last = outcome.plans
    outcome.plans = (first, again._replace(end="4"), last)
    (violation,) = plan_violations(outcome)
    assert "ended at 3 and, planned again, at 4" in violation
    outcome.plans = (first, again._replace(ranges=((INPUT, 0, 1, 3),)), last)
    (violation,) = plan_violations(outcome)
    assert "planned again, [('in', 0, 1, 3)]" in violation


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"maxOffsetsPerTrigger": "2"}, 0),  # and one more offset for each partition
        ({"maxOffsetsPerTrigger": "1"}, 3),
        ({"maxRecordsPerPartition": "3"}, 0),
        ({"maxRecordsPerPartition": "2"}, 2),
        ({"maxBytesPerTrigger": "3"}, 0),  # values of 2 bytes, three at a time
        ({"maxBytesPerTrigger": "2"}, 3),
    ],
)
def test_limits(options: dict[str, str], count: int) -> None:
    assert len([*limit_violations(with_source(**options))]) == count


def test_trigger_once_has_no_limit_since_pyspark_4_2() -> None:
    outcome = with_source(maxOffsetsPerTrigger="1")
    outcome.scenario = replace(outcome.scenario, trigger="once")
    assert [*limit_violations(outcome)] == []
    outcome.scenario = replace(outcome.scenario, interface="4.0")
    assert len([*limit_violations(outcome)]) == 3
