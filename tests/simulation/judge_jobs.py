"""Whether batch queries kept what is promised. Pure, as `judge`.

A read has each visible record between its start and its end, once and in order. Where a start or an
end depends on the moment of planning, it lies between the states of the logs before and after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from kafka_protocol.versions.releases import parse_release
from tests.simulation.batch_jobs import selected, written_value
from tests.simulation.disk import Row
from tests.simulation.expected import still_there, visible_states
from tests.simulation.outcome import JobResult, LogRecord, Outcome
from tests.simulation.scenario import INPUT, WRITTEN
from tests.truth import bounds
from tests.truth.bounds import Between, Log, LogState
from tests.truth.delivery import compare, sentences
from tests.truth.exactly_once import Write, wrong_writes
from tests.truth.filters import Filter, holds
from tests.truth.order import out_of_order
from tests.truth.tables import lacking, wrong_rows

Partition = tuple[str, int]

_FOREVER: Final = 2**62


def job_violations(outcome: Outcome) -> Iterator[str]:
    """All that is wrong with the batch queries of a run."""
    rewrites = outcome.scenario.rewrites
    for number, result in enumerate(outcome.jobs, 1):
        if result.job.kind == "read" and result.error is None and not rewrites:
            for problem in _read(outcome, result):
                yield f"batch {number}: {problem}"
    yield from _written(outcome)


# --- Reads ----------------------------------------------------------------------------------------


def _read(outcome: Outcome, result: JobResult) -> Iterator[str]:
    rows: dict[Partition, list[Row]] = defaultdict(list)
    for task in result.tasks:
        for _, _, row in out_of_order(task):
            yield f"a task has {row.topic}-{row.partition} at {row.offset} twice or out of order"
        for row in task:
            rows[row.topic, row.partition].append(row)
    for partition in [each for each in outcome.logs if each[0] == INPUT]:
        found = sorted(rows.pop(partition, []), key=lambda row: row.offset)
        if selected(result.job.options, partition):
            yield from _partition(outcome, result, partition, found)
        elif found:
            yield f"rows of {partition}, which is not assigned"
    for partition in rows:
        yield f"rows of {partition}, which does not exist"


def _partition(
    outcome: Outcome, result: JobResult, partition: Partition, rows: list[Row]
) -> Iterator[str]:
    job = result.job
    states = visible_states(job.options.get("kafka.isolation.level"))
    log = [each for each in outcome.logs[partition] if each.outcome in states]
    before, after = result.before.get(partition), result.after.get(partition)
    if before is None or after is None:
        return  # without a leader nothing is known
    start = start_between(outcome, result, partition)
    log_around = _log(outcome, result, partition)
    end = bounds.end_between(job.options, partition, log_around)
    there = still_there(outcome, partition, log)
    must = [each for each in there if start.most <= each.offset < end.least]
    # A broker that stood still may also have, and give out, what its successor deleted.
    first = 0 if _asks_an_old_leader(result) and _may_stand_still(outcome) else start.least
    may = [each for each in log if first <= each.offset < end.most]

    def passes(record: LogRecord) -> bool:
        return all(_passes(each, partition, record) for each in job.filters)

    if job.options.get("envelope") == "upsert":
        wanted = lacking(must, may, passes, rows)
        if job.options.get("upsert.tombstones") != "keep":
            wanted = [each for each in wanted if each.value is not None]
            yield from (f"{partition}: a deleted row" for row in rows if row.value is None)
        yield from (f"{partition}: {each}" for each in wrong_rows(must, rows))
    else:
        wanted = [each for each in must if passes(each)]
    if _asks_an_old_leader(result) and _is_added(outcome, partition):
        wanted = []
    expected, actual = ([each.offset for each in records] for records in (may, rows))
    found = compare(expected, actual, must={each.offset for each in wanted})
    yield from sentences(f"{partition}", found)


def start_between(outcome: Outcome, result: JobResult, partition: Partition) -> Between:
    """The offsets at which a read may begin."""
    log = _log(outcome, result, partition)
    return bounds.start_between(result.job.options, partition, log)


def _log(outcome: Outcome, result: JobResult, partition: Partition) -> Log:
    before, after = result.before[partition], result.after[partition]
    log = outcome.logs[partition]
    return Log(
        before,
        after,
        lambda ms: next((each.offset for each in log if each.timestamp_ms >= ms), None),
        result.before_ms,
        result.after_ms,
        _of_group(outcome, before, after, partition),
        _has_old_leaders(outcome),
        any(send.kind in ("commit", "abort") for send in outcome.scenario.sends),
    )


def _of_group(outcome: Outcome, before: LogState, after: LogState, partition: Partition) -> Between:
    """What another program has committed; the start of the log without that."""
    if not outcome.preset:
        return Between(0, _FOREVER)  # it had not ended when the query began
    if partition not in outcome.preset:
        return Between(before.start, after.start)
    return Between(outcome.preset[partition], outcome.preset[partition])


def _has_old_leaders(outcome: Outcome) -> bool:
    """Whether a leader that is none any more may tell an old end, which no client can notice.

    Brokers below 2.1 tell no leader epochs.
    """
    return parse_release(outcome.scenario.release) < (2, 1) and _may_stand_still(outcome)


def _may_stand_still(outcome: Outcome) -> bool:
    """Whether a broker may not hear of its successor for a time."""
    kinds = {each.kind for each in outcome.scenario.faults}
    return not kinds.isdisjoint(_SEPARATING)


def _asks_an_old_leader(result: JobResult) -> bool:
    """Whether the first broker that is asked may have stood still, and know no new partitions."""
    return "kafka.bootstrap.servers" in result.job.options


def _is_added(outcome: Outcome, partition: Partition) -> bool:
    return partition[1] >= outcome.scenario.topics[0].partitions


_SEPARATING: Final = ("pause broker", "isolate broker", "stale metadata", "partition network")


def _passes(wanted: Filter, partition: Partition, record: LogRecord) -> bool:
    values = {
        "topic": partition[0],
        "partition": partition[1],
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
    }
    return holds(wanted, values[wanted.column])


# --- Writes ---------------------------------------------------------------------------------------


def _written(outcome: Outcome) -> Iterator[str]:
    """A write that succeeded is there; one exactly once is there once, or not at all."""
    found = (
        each.value
        for (topic, _), log in outcome.logs.items()
        if topic == WRITTEN
        for each in log
        if each.outcome == "committed"
    )
    writes = [
        Write(
            f"batch {number}",
            [
                written_value(number, task, row)
                for task, count in enumerate(result.job.counts)
                for row in range(count)
            ],
            is_once=result.job.kind == "write once",
            is_done=result.error is None,
        )
        for number, result in enumerate(outcome.jobs, 1)
    ]
    return wrong_writes(writes, found)
