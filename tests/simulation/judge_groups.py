"""Whether reads of a group had each record, and none again that was committed. Pure, as `judge`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from tests.simulation.outcome import Outcome

Partition = tuple[str, int]


def group_violations(outcome: Outcome) -> Iterator[str]:
    """All that is wrong with the reads of the group, one after the other."""
    committed: dict[Partition, int] = {}
    read: dict[Partition, set[int]] = defaultdict(set)
    for number, result in enumerate(outcome.jobs, 1):
        for step in result.steps if result.job.kind == "group" else ():
            for row in step.rows:
                where = row.topic, row.partition
                if row.offset < committed.get(where, 0):
                    yield f"batch {number}: {where} at {row.offset} was committed, and comes again"
                read[where].add(row.offset)
            if step.positions is not None:
                for problem in _lost(outcome, step.positions, read, result.job.options):
                    yield f"batch {number}: {problem}"
                if step.is_done:
                    committed |= step.positions


def follow_violations(outcome: Outcome) -> Iterator[str]:
    """All that is wrong with reads without an end: each record before a position, once, in order.

    Partitions that are added belong to it from their beginning.
    """
    for number, result in enumerate(outcome.jobs, 1):
        if result.job.kind != "follow":
            continue
        read: dict[Partition, set[int]] = defaultdict(set)
        for step in result.steps:
            for row in step.rows:
                where = row.topic, row.partition
                if row.offset <= max(read[where], default=-1):
                    yield f"batch {number}: {where} at {row.offset} is there twice or out of order"
                read[where].add(row.offset)
            if step.positions is None:
                continue
            for problem in _lost(outcome, step.positions, read, result.job.options):
                yield f"batch {number}: {problem}".replace("is committed", "is the position")
            if not step.is_done:
                yield f"batch {number}: it did not come to the ends of the logs"


def _lost(
    outcome: Outcome,
    positions: Mapping[Partition, int],
    read: Mapping[Partition, set[int]],
    options: Mapping[str, str],
) -> Iterator[str]:
    is_committed = options.get("isolation.level") == "read_committed"
    states = {"committed"} if is_committed else {"committed", "aborted", "open"}
    for partition, position in positions.items():
        records = {
            each.offset
            for each in outcome.logs.get(partition, ())
            if each.outcome in states and each.offset < position
        }
        if missing := sorted(records - read.get(partition, set())):
            yield f"{partition}: {position} is committed, and {missing[0]} was never read"
