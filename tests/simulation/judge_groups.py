"""Whether reads and commits of groups are right. Pure, as `judge`; `tests/truth` has the rules."""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation.expected import named, visible_states
from tests.simulation.outcome import JobResult, Outcome
from tests.simulation.scenario import GROUP, READERS
from tests.truth.groups import Reader, ahead, wrong_follows, wrong_reads


def commit_violations(outcome: Outcome) -> Iterator[str]:
    """Each commit, not only the last one.

    A stream commits the end of a micro-batch that is finished. A reader without Spark commits the
    positions that it had.
    """
    of_stream = [each for each in outcome.commits if each.group == GROUP]
    for commit, reason in ahead(of_stream, outcome.ends):
        name = f"{named(commit.partition)}: {commit.offset} is committed to the group {GROUP}"
        yield f"{name}, {reason}"
    positions = {
        (*partition, offset)
        for job in outcome.jobs
        for step in job.steps
        for partition, offset in (step.positions or {}).items()
    }
    for group, partition, offset, _ in outcome.commits:
        if group == READERS and (*partition, offset) not in positions:
            name = f"{named(partition)}: {offset} is committed to the group {group}"
            yield f"{name}, which is no position of a reader"


def group_violations(outcome: Outcome) -> Iterator[str]:
    """All that is wrong with the reads of the group, one after the other."""
    yield from wrong_reads(each for kind, each in _readers(outcome) if kind == "group")


def follow_violations(outcome: Outcome) -> Iterator[str]:
    """All that is wrong with reads without an end."""
    for kind, reader in _readers(outcome):
        if kind == "follow":
            yield from wrong_follows(reader)


def _readers(outcome: Outcome) -> Iterator[tuple[str, Reader]]:
    for number, result in enumerate(outcome.jobs, 1):
        yield result.job.kind, _reader(outcome, number, result)


def _reader(outcome: Outcome, number: int, result: JobResult) -> Reader:
    states = visible_states(result.job.options.get("isolation.level"))
    visible = {
        partition: [each.offset for each in log if each.outcome in states]
        for partition, log in outcome.logs.items()
    }
    return Reader(f"batch {number}", result.steps, visible)
