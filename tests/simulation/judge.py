"""Whether a run kept what the product promises. Pure: from an `Outcome` to a list of violations."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final

from tests.simulation.contents import is_broken
from tests.simulation.judge_groups import group_violations
from tests.simulation.judge_incarnations import incarnation_violations
from tests.simulation.judge_jobs import job_violations
from tests.simulation.judge_tables import (
    headers_as_read,
    letter_violations,
    newest,
    unknown_letters,
)
from tests.simulation.outcome import LogRecord, Outcome
from tests.simulation.producers import key_of
from tests.simulation.scenario import INPUT, OUTPUT, OUTPUTS

Partition = tuple[str, int]


def violations(outcome: Outcome) -> list[str]:
    """All that is wrong with a run, in plain sentences; empty for a good one."""
    checks = _CHECKS_AFTER_REWRITES if outcome.scenario.rewrites else _CHECKS
    return [violation for check in checks for violation in check(outcome)]


def _errors(outcome: Outcome) -> Iterator[str]:
    yield from outcome.unexpected


def _level(outcome: Outcome) -> Iterator[str]:
    may_fail = outcome.scenario.source.get("failOnDataLoss") != "false"
    if outcome.is_stuck and not may_fail:
        yield f"failOnDataLoss is false, and the query failed: {outcome.errors[-1]}"
    if not outcome.is_level and not outcome.is_stuck:
        yield (
            f"not level {outcome.level_ms - outcome.scenario.quiet_from_ms:.0f} ms after the last "
            f"fault; drivers ended with: {'; '.join(outcome.errors[-2:]) or 'nothing'}"
        )


def _waits(outcome: Outcome) -> Iterator[str]:
    for each in outcome.waits:
        if each.ms > each.most_ms:
            yield f"{each.what} took {each.ms:.0f} ms, and may take {each.most_ms:.0f} ms"


def _acknowledged(outcome: Outcome) -> Iterator[str]:
    """What a producer was told is written is in the log, once, with its outcome."""
    states: dict[bytes, list[str]] = defaultdict(list)
    for (topic, _), log in outcome.logs.items():
        if topic not in OUTPUTS:
            for record in log:
                states[record.value or b""].append(record.outcome)
    for sent in outcome.sent:
        found = states[sent.value]
        # Without producer ids a batch whose response is lost is written again.
        copies = 1 if outcome.scenario.has_producer_ids else max(1, len(found))
        if found != [sent.outcome] * copies:
            yield f"{_short(sent.value)} was acknowledged as {sent.outcome}; the log has {found}"


def _chosen(outcome: Outcome, partition: Partition) -> list[LogRecord]:
    """The records of an input partition that a query decodes, as far as it has come."""
    states = {"committed"} if outcome.scenario.is_committed_view else {"committed", "aborted"}
    first, end = outcome.first.get(partition, 0), outcome.processed.get(partition, 0)
    visible = [
        each
        for each in outcome.logs[partition]
        if first <= each.offset < end and each.outcome in states
    ]
    if outcome.scenario.source.get("envelope") == "upsert":
        return newest(visible, _places(outcome, partition))
    return visible


def _expected(outcome: Outcome, partition: Partition) -> list[LogRecord]:
    """The records of an input partition of which there are rows, as far as it has come."""
    chosen = _chosen(outcome, partition)
    if outcome.scenario.drops_broken:
        return [each for each in chosen if not is_broken(each.value)]
    return chosen


def _kept(
    outcome: Outcome,
    partition: Partition,
    found: Container[object],
    identity: Callable[[LogRecord], object],
) -> list[LogRecord]:
    """The expected records without those that were gone before they were read."""
    start = outcome.starts.get(partition, 0)
    compacted = outcome.compacted.get(partition, frozenset())
    return [
        each
        for each in _expected(outcome, partition)
        if (each.offset >= start and each.offset not in compacted) or identity(each) in found
    ]


def _losses(outcome: Outcome) -> Iterator[str]:
    """A loss that the scenario caused is reported; what compaction took is no loss."""
    if any(each.kind == "compact" for each in outcome.scenario.faults):
        return
    reports = [*outcome.warnings, *outcome.errors]
    rows = _all_rows(outcome)
    for partition in _inputs(outcome):
        again = outcome.first_again.get(partition, 0)
        expected = [each for each in _expected(outcome, partition) if each.offset >= again]
        start = outcome.starts.get(partition, 0)
        lost = sum(each.offset < start and each[2:4] not in rows for each in expected)
        if lost and not any(_named(partition) in each for each in reports):
            yield f"{_named(partition)}: {lost} records were deleted unread, and nothing was logged"


def _all_rows(outcome: Outcome) -> set[object]:
    """Key and value of everything that was written."""
    if outcome.scenario.sink == "files":
        return {(row.key, row.value) for rows in outcome.batches.values() for row in rows}
    return {
        each[2:4] for (topic, _), log in outcome.logs.items() if topic == OUTPUT for each in log
    }


def _inputs(outcome: Outcome) -> list[Partition]:
    return [each for each in outcome.logs if each[0] not in OUTPUTS]


def _files(outcome: Outcome) -> Iterator[str]:
    """The file sink has each visible record once, in order, unaltered."""
    if outcome.scenario.sink != "files":
        return
    rows: dict[Partition, list[LogRecord]] = defaultdict(list)
    for batch in sorted(outcome.batches):
        for row in outcome.batches[batch]:
            where = row.topic, row.partition
            rows[where].append(
                LogRecord(row.offset, row.timestamp_ms, row.key, row.value, "committed")
            )
    for partition in _inputs(outcome):
        places = _places(outcome, partition)
        # Not by contents: a copy that a producer without an id wrote has the same.
        found = {each.offset for each in rows[partition]}
        wanted = _kept(outcome, partition, found, attrgetter("offset"))
        expected = [each._replace(outcome="committed", headers=()) for each in wanted]
        expected.sort(key=lambda each: places(each.offset))
        # Rows of different tasks of a micro-batch may come in any order.
        actual = sorted(rows.pop(partition, []), key=lambda each: places(each.offset))
        yield from _differences(_named(partition), expected, actual)
    for partition in rows:
        yield f"rows of {_named(partition)}, which does not exist"


def _attempts(outcome: Outcome) -> Iterator[str]:
    """Each attempt of a task reads what is in the log, also one that lost."""
    logs = {where: {each.offset: each for each in log} for where, log in outcome.logs.items()}
    for name, rows in outcome.attempts.items():
        for row in rows:
            record = logs.get((row.topic, row.partition), {}).get(row.offset)
            # Headers are compared if they were asked for.
            headers = () if record is None or row.headers is None else record.headers
            if headers:
                headers = headers_as_read(_columns(outcome, name), headers)
            if record is None or record[1:4] != row[3:6] or (row.headers or ()) != headers:
                yield f"file {name}: {_short(row)} is not the record {_short(record)}"
                break


def _columns(outcome: Outcome, file: str) -> dict[str, str]:
    """The columns with another type of the query that has written a file: a job has a number."""
    scenario, number = outcome.scenario, int(file.partition("/")[0])
    return scenario.columns if number >= 0 else scenario.jobs[-number - 1].columns


def _output(outcome: Outcome) -> Iterator[str]:
    """The Kafka sinks have each visible record, once if that is promised."""
    sink = outcome.scenario.sink
    if sink == "files":
        return
    for partition in _inputs(outcome):
        log = outcome.logs.get((OUTPUT, partition[1]), [])
        visible = [(each.key, each.value) for each in log if each.outcome == "committed"]
        read = _kept(outcome, partition, {*visible}, attrgetter("key", "value"))
        if sink == "at least once":
            visible = [*dict.fromkeys(visible)]  # the first copy of each
            # A run may end within a micro-batch, whose rows are in the topic already.
            ahead = {(each.key, each.value) for each in outcome.logs[partition]}
            ahead -= {(each.key, each.value) for each in read}
            visible = [each for each in visible if each not in ahead]
        if not outcome.scenario.has_producer_ids:
            # The input may have a record twice, so its copies cannot be told apart.
            wanted = {(each.key, each.value) for each in read}
            yield from _differences(f"{OUTPUT}-{partition[1]}", _sorted(wanted), _sorted(visible))
            continue
        places = _places(outcome, partition)
        order = {(each.key, each.value): places(each.offset) for each in read}
        batches = [order[each][0] for each in visible if each in order]
        if batches != sorted(batches):
            yield f"{OUTPUT}-{partition[1]}: micro-batches are out of order"
        # Rows of different tasks of a micro-batch may come in any order.
        visible.sort(key=lambda each: order.get(each, (0, 0)))
        read.sort(key=lambda each: places(each.offset))
        expected = [(each.key, each.value) for each in read]
        if sink == "at least once":
            expected = [*dict.fromkeys(expected)]
        yield from _differences(f"{OUTPUT}-{partition[1]}", expected, visible)


def _headers(outcome: Outcome) -> Iterator[str]:
    """The Kafka sinks write the headers that were read."""
    reads = outcome.scenario.source.get("includeHeaders") == "true"
    known = {
        each.value: headers_as_read(outcome.scenario.columns, each.headers) if reads else ()
        for partition in _inputs(outcome)
        for each in outcome.logs[partition]
    }
    for (topic, number), log in outcome.logs.items():
        wrong = [each for each in log if each.headers != known.get(each.value, each.headers)]
        if topic == OUTPUT and wrong:
            yield f"{topic}-{number}: {_short(wrong[0])} has other headers than the record read"


def _letters(outcome: Outcome) -> Iterator[str]:
    """What cannot be decoded is a dead letter before its micro-batch is committed."""
    if not outcome.scenario.has_letters:
        return
    for partition in _inputs(outcome):
        places = _places(outcome, partition)
        yield from letter_violations(outcome, partition, _chosen(outcome, partition), places)
    yield from unknown_letters(outcome)


def _group(outcome: Outcome) -> Iterator[str]:
    """What is committed to a consumer group is the end of a micro-batch that is finished."""
    for partition, offset in outcome.group.items():
        ends = {each.get(partition) for each in outcome.ends}
        if offset not in ends or offset > outcome.processed.get(partition, 0):
            yield f"{_named(partition)}: {offset} is committed to the group, which is no end"


def _start(outcome: Outcome) -> Iterator[str]:
    """A stream that starts by a timestamp leaves out no record of that time."""
    text = outcome.scenario.source.get("startingTimestamp")
    for partition, first in outcome.first.items() if text else ():
        missed = [e for e in outcome.logs[partition] if e.timestamp_ms >= int(text or 0)]
        if missed and missed[0].offset < first:
            yield f"{_named(partition)}: began at {first}, behind the record {_short(missed[0])}"


def _invented(outcome: Outcome) -> Iterator[str]:
    """What is read and written was sent, to this partition and with this key."""
    scenario = outcome.scenario
    sent = {
        (part.topic, part.partition, key_of(number), scenario.values.of(*part[:2], number))
        for send in scenario.sends
        for part in send.parts
        for number in range(part.first, part.first + part.length)
    }
    rows = {
        (row.topic, row.partition, row.key, row.value)
        for rows in outcome.attempts.values()
        for row in rows
    }
    rows |= {
        (INPUT, number, each.key, each.value)
        for (topic, number), log in outcome.logs.items()
        for each in log
        if topic == OUTPUT
    }
    for row in sorted(rows - sent, key=repr)[:3]:
        yield f"nobody has sent {_short(row)}"


def _sorted(
    records: Iterable[tuple[bytes | None, bytes | None]],
) -> list[tuple[bytes | None, bytes | None]]:
    return sorted(records, key=lambda each: (each[0] or b"", each[1] or b""))


def _places(outcome: Outcome, partition: Partition) -> Callable[[int], tuple[int, int]]:
    """Offset -> the micro-batch and the first offset of the range in which it was planned."""
    starts = sorted(
        {
            (start, plan.batch)
            for plan in outcome.plans
            for topic, number, start, until in plan.ranges
            if (topic, number) == partition and start < until
        }
    )

    def place(offset: int) -> tuple[int, int]:
        at = bisect_right(starts, (offset, len(outcome.plans))) - 1
        return (starts[at][1], starts[at][0]) if at >= 0 else (-1, -1)

    return place


def _differences(where: str, expected: Sequence[object], actual: Sequence[object]) -> Iterator[str]:
    if [*expected] == [*actual]:
        return
    wanted, found = Counter(expected), Counter(actual)
    lost, extra = wanted - found, found - wanted
    for count, name in ((lost, "lost"), (extra, "unknown, altered or twice")):
        if count:
            example = _short(next(iter(count)))
            yield f"{where}: {sum(count.values())} records are {name}, as {example}"
    if not lost and not extra:
        at = next(i for i, (a, b) in enumerate(zip(expected, actual, strict=True)) if a != b)
        yield f"{where}: record {at} is out of order: {_short(actual[at])}"


def _plans(outcome: Outcome) -> Iterator[str]:
    """A micro-batch that is planned again is the same one."""
    if outcome.scenario.loses_records:
        return
    first: dict[int, tuple[str, object]] = {}
    for plan in outcome.plans:
        ranges = _merged(plan.ranges)
        end, before = first.setdefault(plan.batch, (plan.end, ranges))
        if end != plan.end:
            yield f"micro-batch {plan.batch} ended at {end} and, planned again, at {plan.end}"
        elif before != ranges:
            yield f"micro-batch {plan.batch} read {before} and, planned again, {ranges}"


def _merged(ranges: Iterable[tuple[str, int, int, int]]) -> list[tuple[str, int, int, int]]:
    merged: list[tuple[str, int, int, int]] = []
    for topic, partition, start, until in ranges:
        if merged and merged[-1][:2] == (topic, partition) and merged[-1][3] == start:
            merged[-1] = (topic, partition, merged[-1][2], until)
        else:
            merged.append((topic, partition, start, until))
    return merged


def _decoders(outcome: Outcome) -> Iterator[str]:
    yield from outcome.bad_frames


def _steps(outcome: Outcome) -> Iterator[str]:
    """Without a proxy that loses or repeats them, responses come in the order of the requests."""
    kinds = {each.kind for each in outcome.scenario.faults}
    if kinds.isdisjoint(("lose response", "repeat response")):
        yield from (f"a response is out of step: {each}" for each in outcome.out_of_step)


def _named(partition: Partition) -> str:
    return f"{partition[0]}-{partition[1]}"


def _short(value: object) -> str:
    return repr(value)[:120]


_CHECKS: Final[tuple[Callable[[Outcome], Iterator[str]], ...]] = (
    _errors,
    _acknowledged,
    _files,
    _attempts,
    _output,
    _headers,
    _letters,
    _group,
    _start,
    _losses,
    _plans,
    _decoders,
    _steps,
    _waits,
    job_violations,
    group_violations,
    _level,
)

# An offset may have another record then, and acknowledged records may be gone.
_CHECKS_AFTER_REWRITES: Final[tuple[Callable[[Outcome], Iterator[str]], ...]] = (
    _errors,
    _invented,
    incarnation_violations,
    _decoders,
    _waits,
    job_violations,
    _level,
)
