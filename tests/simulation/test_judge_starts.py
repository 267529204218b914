"""The judge of starts: a stream begins where its options say, as far as that can be known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.judge_starts import start_violations
from tests.simulation.outcome import Begun, Outcome
from tests.simulation.scenario import INPUT
from tests.simulation.test_judge import IN, good
from tests.truth.bounds import LogState

# The log had three records when the query was started, and five when its start was logged.
BEGUN = Begun({IN: LogState(0, 3, 3)}, 1_003.0, {IN: LogState(0, 5, 5)}, 1_005.0)


def starting(first: int, source: dict[str, str], **changes: Any) -> Outcome:
    outcome = good(first={IN: first}, begun=BEGUN, **changes)
    outcome.scenario = replace(outcome.scenario, source=source)
    return outcome


def everywhere(value: object) -> str:
    return json.dumps({INPUT: {"0": value}})


@pytest.mark.parametrize(
    ("source", "right", "wrong"),
    [
        ({"startingOffsets": "latest"}, (3, 4, 5), (2, 6)),
        ({"startingOffsets": everywhere(2)}, (2,), (1, 3)),
        ({"startingTimestamp": "1004"}, (3, 4), (0, 5)),
    ],
)
def test_starts(source: dict[str, str], right: tuple[int, ...], wrong: tuple[int, ...]) -> None:
    for first in right:
        assert [*start_violations(starting(first, source))] == []
    for first in wrong:
        (violation,) = start_violations(starting(first, source))
        assert f"in-0: the stream began at {first}, and not from" in violation


def test_a_start_some_time_ago_is_not_the_end_of_the_log() -> None:
    begun = BEGUN._replace(before_ms=2_003.0, after_ms=2_004.0)
    for first, count in ((2, 1), (3, 0), (4, 0), (5, 1)):
        outcome = starting(first, {"startingOffsets": "-1s"})
        outcome.begun = begun
        assert len([*start_violations(outcome)]) == count


def test_a_start_at_the_offsets_of_a_group() -> None:
    source = {"startingOffsets": "group"}
    assert [*start_violations(starting(2, source, preset={IN: 2}))] == []
    assert len([*start_violations(starting(0, source, preset={IN: 2}))]) == 1
    assert [*start_violations(starting(0, source, preset={(INPUT, 1): 2}))] == []
    assert [*start_violations(starting(4, source, preset={}))] == []


def test_what_is_not_known_is_not_judged() -> None:
    outcome = starting(9, {"startingOffsets": "latest"})
    outcome.begun = None
    assert [*start_violations(outcome)] == []
    assert [*start_violations(starting(9, {"startingOffsets": "earliest"}))] == []
