"""The judge of logs that lost their ends: no task has rows of both, or waits for what is gone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.judge_cuts import cut_violations
from tests.simulation.outcome import Cut, Outcome
from tests.simulation.scenario import Fault
from tests.simulation.test_judge import IN, good, row

# v2 and v3 were cut off, and v4 and v5 came in their place.
CUT = Cut(IN, frozenset(((b"k", b"v2"), (b"k", b"v3"))), frozenset(((b"k", b"v4"), (b"k", b"v5"))))
WAITED = (
    "KafkaTimeoutError: Cannot fetch record for offset 4 of in-0 in 120000 milliseconds; the range "
    "ends at 6"
)


def cut(release: str = "4.3", **changes: Any) -> Outcome:
    outcome = good(cuts=[CUT], **changes)
    faults = (Fault(1, "unclean election", 0, {}),)
    outcome.scenario = replace(outcome.scenario, faults=faults, release=release)
    return outcome


@pytest.mark.parametrize(
    ("offsets", "count"), [((0, 1, 2, 3), 0), ((0, 1, 4, 5), 0), ((0, 2, 4), 1), ((3, 4), 1)]
)
def test_no_task_has_rows_of_both_logs(offsets: tuple[int, ...], count: int) -> None:
    outcome = cut(attempts={"0/0-0": [row(each) for each in offsets]})
    assert len([*cut_violations(outcome)]) == count
    source = outcome.scenario.source | {"failOnDataLoss": "false"}
    outcome.scenario = replace(outcome.scenario, source=source)
    assert [*cut_violations(outcome)] == []


V2, V3 = (b"k", b"v2"), (b"k", b"v3")


@pytest.mark.parametrize(
    ("without", "count", "waits"), [({V3}, 1, 1), ({V2}, 0, 1), ({V2, V3}, 0, 0)]
)
def test_brokers_cannot_tell_a_cut_of_records_without_epochs(
    without: set[tuple[bytes, bytes]], count: int, waits: int
) -> None:
    outcome = cut(attempts={"0/0-0": [row(each) for each in (0, 2, 4)]})
    outcome.cuts = [CUT._replace(without_epoch=frozenset(without))]
    assert len([*cut_violations(outcome)]) == count
    outcome = cut(attempt_errors=[WAITED])
    outcome.cuts = [CUT._replace(without_epoch=frozenset(without))]
    assert len([*cut_violations(outcome)]) == waits


def test_a_task_does_not_wait_for_what_was_cut_off() -> None:
    (violation,) = cut_violations(cut(attempt_errors=[WAITED]))
    assert violation.startswith("in-0 was cut, and a task waited: ")
    other = WAITED.replace("in-0", "in-1")
    assert [*cut_violations(cut(attempt_errors=[other]))] == []
    assert [*cut_violations(cut(release="2.4", attempt_errors=[WAITED]))] == []
