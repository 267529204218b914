"""The judge of losses: each is told as failOnDataLoss wants it, and no other one is told of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.simulation.judge_losses import false_alarms, loss_violations
from tests.simulation.outcome import Outcome
from tests.simulation.scenario import Fault
from tests.simulation.test_judge import IN, good, row

REPORT = "Could not read records in offset [3, 4) for topic partition in-0"


def with_loss(**source: str) -> Outcome:
    """Records 0 to 3 are deleted, the last of them before it was read."""
    outcome = good(starts={IN: 4})
    outcome.scenario = replace(
        outcome.scenario,
        faults=(Fault(1, "delete records", 0, {}),),
        source=outcome.scenario.source | source,
    )
    outcome.batches[1] = [row(4), row(5)]
    return outcome


def test_a_loss_is_logged_if_the_query_goes_on() -> None:
    outcome = with_loss(failOnDataLoss="false")
    (violation,) = loss_violations(outcome)
    assert violation == "in-0: 1 records were deleted unread, and nothing was logged"
    outcome.warnings = [REPORT]
    assert [*loss_violations(outcome)] == []


@pytest.mark.parametrize("source", [{}, {"failOnDataLoss": "true"}])
def test_a_query_that_must_fail_does_not_go_on_with_a_warning(source: dict[str, str]) -> None:
    outcome = with_loss(**source)
    outcome.warnings = [REPORT]
    (violation,) = loss_violations(outcome)
    assert violation == "in-0: 1 records were deleted unread, and failOnDataLoss did not stop"
    outcome.processed = {IN: 3}  # the micro-batch was not finished
    assert [*loss_violations(outcome)] == []


def test_what_was_gone_before_the_query_began_or_was_compacted_is_no_loss() -> None:
    outcome = with_loss()
    outcome.first_again = {IN: 4}
    assert [*loss_violations(outcome)] == []
    outcome = with_loss()
    outcome.scenario = replace(outcome.scenario, faults=(Fault(1, "compact", 0, {}),))
    assert [*loss_violations(outcome)] == []


def test_an_alarm_is_false_where_nothing_is_lost() -> None:
    alarms = ["LogTruncatedError: in-0 was truncated"]
    (violation,) = false_alarms(good(alarms=alarms))
    assert violation == f"nothing is lost, and the query ended: {alarms[0]}"
    outcome = with_loss()
    outcome.alarms = alarms
    assert [*false_alarms(outcome)] == []
