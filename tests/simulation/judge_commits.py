"""Whether each commit to a group, when it reached its coordinator, was of what was done. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation.expected import named
from tests.simulation.outcome import Outcome
from tests.simulation.scenario import GROUP, READERS


def commit_violations(outcome: Outcome) -> Iterator[str]:
    """Each commit, not only the last one.

    A stream commits the end of a micro-batch that is finished. A reader without Spark commits the
    positions that it had.
    """
    positions = {
        (*partition, offset)
        for job in outcome.jobs
        for step in job.steps
        for partition, offset in (step.positions or {}).items()
    }
    for group, partition, offset, finished in outcome.commits:
        name = f"{named(partition)}: {offset} is committed to the group {group}"
        if group == GROUP:
            ends = [each.get(partition) for each in outcome.ends]
            if offset not in ends:
                yield f"{name}, which is the end of no micro-batch"
            elif offset not in ends[:finished]:
                yield f"{name} before its micro-batch is finished"
        elif group == READERS and (*partition, offset) not in positions:
            yield f"{name}, which is no position of a reader"
