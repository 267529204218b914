"""Whether batch queries kept what is promised. Pure, as `judge`.

A read has each visible record between its start and its end, once and in order. Where a start or an
end depends on the moment of planning, it lies between the states of the logs before and after.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka_protocol.versions.releases import parse_release
from tests.simulation.batch_jobs import selected, written_value
from tests.simulation.disk import Row
from tests.simulation.expected import still_there, visible_states
from tests.simulation.outcome import JobResult, LogRecord, LogState, Outcome
from tests.simulation.scenario import INPUT, WRITTEN
from tests.truth.delivery import compare, sentences
from tests.truth.exactly_once import Write, wrong_writes
from tests.truth.filters import Filter, holds
from tests.truth.order import out_of_order
from tests.truth.tables import lacking, wrong_rows

Partition = tuple[str, int]

_FOREVER: Final = 2**62


class Between(NamedTuple):
    """The least and the greatest offset that one end of a read may have."""

    least: int
    most: int


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
    end = _end(outcome, result, partition)
    there = still_there(outcome, partition, log)
    must = [each for each in there if start.most <= each.offset < end.least]
    may = [each for each in log if start.least <= each.offset < end.most]

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


def _end_of(state: LogState, options: Mapping[str, str]) -> int:
    is_committed = options.get("kafka.isolation.level") == "read_committed"
    return state.last_stable_offset if is_committed else state.high_watermark


def _first_since(log: Sequence[LogRecord], ms: int) -> int | None:
    return next((each.offset for each in log if each.timestamp_ms >= ms), None)


def _of_partition(options: Mapping[str, str], names: Sequence[str], partition: Partition) -> Any:
    """The first given option: a text, or what its JSON has for a partition."""
    name = next((each for each in names if each in options), None)
    if name is None:
        return None, None
    text = options[name]
    if not text.startswith("{"):
        return name, text
    of_topic = json.loads(text)[partition[0]]
    return name, of_topic if isinstance(of_topic, str) else of_topic.get(str(partition[1]))


def start_between(outcome: Outcome, result: JobResult, partition: Partition) -> Between:
    """The offsets at which a read may begin."""
    options = result.job.options
    before, after = result.before[partition], result.after[partition]
    name, bound = _of_partition(options, _STARTS, partition)
    if bound in (None, "earliest", -2):
        return Between(before.start, after.start)
    if name in _TIMES:
        # Markers have timestamps, too, and so the read may begin at one, before this record.
        first = _first_since(outcome.logs[partition], int(bound))
        if first is None or _has_markers(outcome):
            return Between(0, _FOREVER if first is None else first)
        # The first record since then may have come later than the end of the log was looked up.
        return Between(min(first, _end_of(before, options)), first)
    if isinstance(bound, int) and bound >= 0:
        return Between(bound, bound)
    if bound == "group":
        return _of_group(outcome, result, partition)
    return _near_the_end(outcome, result, partition, bound)


def _near_the_end(
    outcome: Outcome, result: JobResult, partition: Partition, bound: int | str
) -> Between:
    """Before the end of the log by offsets, or before the moment of planning by time."""
    options = result.job.options
    before, after = result.before[partition], result.after[partition]
    if bound == -1 or str(bound).startswith("latest"):
        count = int(str(bound).partition("latest-")[2] or 0)
        least = max(before.start, _end_of(before, options) - count)
        return Between(least, max(after.start, _end_of(after, options) - count))
    return _since_ago(outcome, result, partition, str(bound))


def _of_group(outcome: Outcome, result: JobResult, partition: Partition) -> Between:
    """What another program has committed; the start of the log without that."""
    if not outcome.preset:
        return Between(0, _FOREVER)  # it had not ended when the query began
    if partition not in outcome.preset:
        return Between(result.before[partition].start, result.after[partition].start)
    return Between(outcome.preset[partition], outcome.preset[partition])


def _since_ago(outcome: Outcome, result: JobResult, partition: Partition, bound: str) -> Between:
    """From a time before the moment of planning, on the driver's clock."""
    log, ms = outcome.logs[partition], float(bound[1:-1]) * 1_000
    least, most = (
        _first_since(log, int(at_ms - ms)) for at_ms in (result.before_ms, result.after_ms)
    )
    ends = [_end_of(each[partition], result.job.options) for each in (result.before, result.after)]
    if _has_markers(outcome):
        least = 0  # markers have timestamps, too
    return Between(_most(least, ends[0]), _most(most, ends[1]))


def _end(outcome: Outcome, result: JobResult, partition: Partition) -> Between:
    options = result.job.options
    before, after = result.before[partition], result.after[partition]
    ends = Between(_end_of(before, options), _end_of(after, options))
    if _has_old_leaders(outcome):
        ends = Between(0, ends.most)
    name, bound = _of_partition(options, _ENDS, partition)
    if bound in (None, "latest", -1):
        return ends
    if name in _TIMES:
        first = _first_since(outcome.logs[partition], int(bound))
        # Nothing has that timestamp yet: the end of the log.
        least = ends.least if first is None else min(first, ends.least)
        return Between(0 if _has_markers(outcome) else least, _most(first, ends.most))
    if isinstance(bound, int):
        return Between(min(bound, ends.least), bound)
    count = int(bound.partition("-")[2])
    return Between(max(0, ends.least - count), max(after.start, ends.most - count))


def _has_old_leaders(outcome: Outcome) -> bool:
    """Whether a leader that is none any more may tell an old end, which no client can notice.

    Brokers below 2.1 tell no leader epochs.
    """
    kinds = {each.kind for each in outcome.scenario.faults}
    return parse_release(outcome.scenario.release) < (2, 1) and not kinds.isdisjoint(_SEPARATING)


def _asks_an_old_leader(result: JobResult) -> bool:
    """Whether the first broker that is asked may have stood still, and know no new partitions."""
    return "kafka.bootstrap.servers" in result.job.options


def _is_added(outcome: Outcome, partition: Partition) -> bool:
    return partition[1] >= outcome.scenario.topics[0].partitions


def _has_markers(outcome: Outcome) -> bool:
    return any(send.kind in ("commit", "abort") for send in outcome.scenario.sends)


def _most(first: int | None, end: int) -> int:
    return end if first is None else min(first, end)


_SEPARATING: Final = ("pause broker", "isolate broker", "stale metadata", "partition network")
_STARTS: Final = ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
_ENDS: Final = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
_TIMES: Final = frozenset((*_STARTS[:2], *_ENDS[:2]))


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
