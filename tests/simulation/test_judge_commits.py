"""The judge of commits to groups: each commit counts, with what was done when it arrived."""

from __future__ import annotations

import pytest

from tests.simulation.judge_commits import commit_violations
from tests.simulation.outcome import GroupCommit, GroupStep, JobResult
from tests.simulation.scenario import GROUP, READERS, Job
from tests.simulation.test_judge import IN, good

ENDS = [{IN: 3}, {IN: 6}]


@pytest.mark.parametrize(
    ("offset", "finished", "reason"),
    [
        (3, 1, ""),
        (3, 2, ""),
        (6, 2, ""),
        (6, 1, "before its micro-batch is finished"),
        (3, 0, "before its micro-batch is finished"),
        (4, 2, "the end of no micro-batch"),
    ],
)
def test_a_stream_commits_the_ends_of_what_is_finished(
    offset: int, finished: int, reason: str
) -> None:
    # A right commit afterwards does not hide it.
    commits = [GroupCommit(GROUP, IN, offset, finished), GroupCommit(GROUP, IN, 6, 2)]
    found = [*commit_violations(good(ends=ENDS, commits=commits))]
    assert len(found) == bool(reason)
    assert all(reason in each for each in found)


def test_a_reader_commits_its_positions() -> None:
    job = JobResult(Job(0, "group", {}), {}, {}, (), None, False, [GroupStep((), {IN: 4})])
    for offset, count in ((4, 0), (5, 1)):
        outcome = good(jobs=[job], commits=[GroupCommit(READERS, IN, offset, 0)])
        assert len([*commit_violations(outcome)]) == count
