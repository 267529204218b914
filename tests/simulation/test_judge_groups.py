"""What the judge of groups takes from an outcome; `tests/truth/test_groups.py` has the rules."""

from __future__ import annotations

from tests.simulation.disk import Row
from tests.simulation.judge_groups import commit_violations, follow_violations, group_violations
from tests.simulation.outcome import JobResult, LogRecord, Outcome
from tests.simulation.scenario import GROUP, INPUT, READERS, Job, JobKind, Scenario
from tests.simulation.test_judge import good
from tests.truth.groups import Commit, Step

IN = (INPUT, 0)
LOG = [LogRecord(at, 0, None, b"", "aborted" if at == 2 else "committed") for at in range(4)]


def read(kind: JobKind, *offsets: int, committed: bool = True) -> Outcome:
    """A read of these records, up to the offset 4."""
    options = {"isolation.level": "read_committed"} if committed else {}
    rows = [Row(INPUT, 0, at, 0, None, b"") for at in offsets]
    steps = [Step(rows), Step((), {IN: 4}, is_done=True)]
    result = JobResult(Job(0, kind, options), {}, {}, (), None, False, steps)
    return Outcome(Scenario(1), logs={IN: LOG}, jobs=[result])


def test_reads_are_judged_by_what_their_isolation_level_shows() -> None:
    for kind, judge in (("group", group_violations), ("follow", follow_violations)):
        assert [*judge(read(kind, 0, 1, 3))] == []  # type: ignore[arg-type]
        (lost,) = judge(read(kind, 0, 1, 3, committed=False))  # type: ignore[arg-type]
        assert lost.startswith("batch 1: ('in', 0): 4 is ")
        assert lost.endswith(" and 2 was never read")


def test_each_kind_of_read_has_its_judge() -> None:
    assert [*group_violations(read("follow"))] == [*follow_violations(read("group"))] == []


def test_a_stream_commits_the_ends_of_what_is_finished() -> None:
    ends = [{IN: 3}, {IN: 6}]
    early, right = Commit(GROUP, IN, 6, 1), Commit(GROUP, IN, 6, 2)
    assert [*commit_violations(good(ends=ends, commits=[early, right]))] == [
        "in-0: 6 is committed to the group watchers, before its micro-batch is finished"
    ]


def test_a_reader_commits_its_positions() -> None:
    job = JobResult(Job(0, "group", {}), {}, {}, (), None, False, [Step((), {IN: 4})])
    for offset, count in ((4, 0), (5, 1)):
        outcome = good(jobs=[job], commits=[Commit(READERS, IN, offset, 0)])
        assert len([*commit_violations(outcome)]) == count
