"""What the judge of losses takes from an outcome; `tests/truth/test_losses.py` has the rules."""

from __future__ import annotations

from dataclasses import replace

from tests.simulation.judge_losses import false_alarms, loss_violations
from tests.simulation.outcome import Outcome
from tests.simulation.scenario import Fault
from tests.simulation.test_judge import IN, good, row


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


def test_a_loss_is_told_as_the_option_wants_it() -> None:
    outcome = with_loss(failOnDataLoss="false")
    assert [*loss_violations(outcome)] == [
        "in-0: 1 records were deleted unread, and nothing was logged"
    ]
    outcome.warnings = ["Could not read records in offset [3, 4) for topic partition in-0"]
    assert [*loss_violations(outcome)] == []
    for source in ({}, {"failOnDataLoss": "true"}):
        outcome = with_loss(**source)
        assert [*loss_violations(outcome)] == [
            "in-0: 1 records were deleted unread, and failOnDataLoss did not stop"
        ]
        outcome.processed = {IN: 3}  # the micro-batch was not finished
        assert [*loss_violations(outcome)] == []


def test_what_was_gone_before_the_query_began_or_was_compacted_is_no_loss() -> None:
    outcome = with_loss()
    outcome.first_again = {IN: 4}
    assert [*loss_violations(outcome)] == []
    outcome = with_loss()
    outcome.scenario = replace(outcome.scenario, faults=(Fault(1, "compact", 0, {}),))
    assert [*loss_violations(outcome)] == []


def test_an_alarm_is_false_where_no_fault_loses_records() -> None:
    outcome = with_loss()
    outcome.alarms = ["LogTruncatedError: in-0 was truncated"]
    assert [*false_alarms(outcome)] == []
    assert len([*false_alarms(good(alarms=outcome.alarms))]) == 1
