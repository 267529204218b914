"""The judge of reads of a group: good ones, and each way in which one can be wrong."""

from __future__ import annotations

import pytest

from tests.simulation.disk import Row
from tests.simulation.judge_groups import follow_violations, group_violations
from tests.simulation.outcome import GroupStep, JobResult, LogRecord, Outcome
from tests.simulation.scenario import INPUT, Job, Scenario

IN = (INPUT, 0)
LOG = [LogRecord(at, 0, None, b"", "aborted" if at == 2 else "committed") for at in range(6)]


def taken(*offsets: int) -> GroupStep:
    return GroupStep([Row(INPUT, 0, at, 0, None, b"") for at in offsets])


def commit(position: int, *, is_done: bool = True) -> GroupStep:
    return GroupStep((), {IN: position}, is_done)


def outcome(*jobs: list[GroupStep]) -> Outcome:
    job = Job(0, "group", {"isolation.level": "read_committed"})
    results = [JobResult(job, {}, {}, (), None, False, steps) for steps in jobs]
    return Outcome(Scenario(1), logs={IN: LOG}, jobs=results)


@pytest.mark.parametrize(
    "good",
    [
        outcome([taken(0, 1), commit(2)], [taken(3, 4, 5), commit(6)]),
        outcome([taken(0, 1), commit(1)], [taken(1, 3), commit(4)]),
        outcome([taken(0, 1), commit(2, is_done=False)], [taken(3), commit(4)]),
        outcome([taken(0, 1), commit(2, is_done=False)], [taken(0, 1, 3), commit(4)]),
        outcome([taken(0, 1)], [taken(0, 1, 3), commit(4)]),
    ],
)
def test_good_reads(good: Outcome) -> None:
    assert [*group_violations(good)] == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (outcome([taken(0, 1), commit(2)], [taken(1)]), "batch 2: ('in', 0) at 1 was committed, "),
        (outcome([taken(0), commit(2)]), "2 is committed, and 1 was never read"),
        (outcome([taken(0), commit(2, is_done=False)]), "2 is committed, and 1 was never read"),
        (outcome([taken(0, 1), commit(2)], [taken(4), commit(5)]), "and 3 was never read"),
    ],
)
def test_bad_reads(bad: Outcome, reason: str) -> None:
    assert any(reason in each for each in group_violations(bad))


def followed(*steps: GroupStep) -> Outcome:
    job = Job(0, "follow", {"isolation.level": "read_committed"})
    return Outcome(
        Scenario(1), logs={IN: LOG}, jobs=[JobResult(job, {}, {}, (), None, False, steps)]
    )


def test_a_read_that_follows_has_each_record_before_its_position() -> None:
    assert [*follow_violations(followed(taken(0, 1), taken(3), commit(4)))] == []
    assert [*follow_violations(followed(taken(0), taken(1)))] == []  # it did not end by itself


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((taken(0, 1), commit(4)), "3 was never read"),
        ((taken(0, 1), taken(1), commit(2)), "twice or out of order"),
        ((taken(1, 0), commit(2)), "twice or out of order"),
        ((commit(6),), "6 is the position, and 0 was never read"),
        ((taken(0, 1), commit(2, is_done=False)), "did not come to the ends of the logs"),
    ],
)
def test_a_read_that_follows_and_is_wrong(steps: tuple[GroupStep, ...], reason: str) -> None:
    assert any(reason in each for each in follow_violations(followed(*steps)))
