"""Whether a run kept what the product promises. Pure: from an `Outcome` to a list of violations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Final

from tests.simulation.expected import (
    Partition,
    expected_records,
    headers_as_read,
    inputs,
    named,
    places_of,
    still_there,
)
from tests.simulation.judge_cuts import cut_violations
from tests.simulation.judge_groups import (
    commit_violations,
    follow_violations,
    group_violations,
)
from tests.simulation.judge_incarnations import incarnation_violations
from tests.simulation.judge_jobs import job_violations
from tests.simulation.judge_letters import letter_violations
from tests.simulation.judge_losses import false_alarms, loss_violations
from tests.simulation.judge_plans import limit_violations, plan_violations
from tests.simulation.judge_refusals import refusal_violations
from tests.simulation.judge_starts import start_violations
from tests.simulation.outcome import LogRecord, Outcome, Violation
from tests.simulation.scenario import INPUT, OUTPUT
from tests.truth.addressed import invented
from tests.truth.delivery import (
    AT_LEAST_ONCE,
    EXACTLY_ONCE,
    KINDS,
    compare,
    sentences,
    short,
)

CRASHES: Final = "errors"
"""The judge that names no promise: an error ended a query, or the run."""

# What follows from a crash: the query does not come to its end, or only late.
_AFTER_CRASHES: Final = frozenset({"level", "waits"})


_Fate = tuple[bytes | None, bytes | None, str]
"""The key and the value of a record, and its outcome."""


def violations(outcome: Outcome) -> list[str]:
    """All that is wrong with a run, in plain sentences; empty for a good one."""
    return [each.text for each in judged(outcome)]


def judged(outcome: Outcome) -> list[Violation]:
    """All that is wrong with a run, each with the judge that found it."""
    names = _AFTER_REWRITES if outcome.scenario.rewrites else _WITHOUT_REWRITES
    return [Violation(name, text) for name in names for text in _CHECKS[name](outcome)]


def broken_promise(found: Sequence[Violation]) -> Violation | None:
    """The first violation of a promise; a crash is none, nor is what follows from a crash alone."""
    others = {each.judge for each in found} - {CRASHES}
    if others <= _AFTER_CRASHES and any(each.judge == CRASHES for each in found):
        return None
    return next((each for each in found if each.judge != CRASHES), None)


def _errors(outcome: Outcome) -> Iterator[str]:
    yield from outcome.unexpected
    for number, result in enumerate(outcome.jobs, 1):
        if result.is_unexpected:
            yield f"batch {number} ended with {result.error}"


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
    sent: dict[str, list[_Fate]] = defaultdict(list)
    there: dict[str, list[_Fate]] = defaultdict(list)
    for each in outcome.sent:
        sent[each.topic].append((each.key, each.value, each.outcome))
    for (topic, _), log in outcome.logs.items():
        there[topic] += [(record.key, record.value, record.outcome) for record in log]
    # Without producer ids a batch whose response is lost is written again.
    repeats = EXACTLY_ONCE if outcome.scenario.has_producer_ids else AT_LEAST_ONCE
    for topic, of_topic in sent.items():
        allowed = repeats | {"unknown", "reordered"}
        found = compare(of_topic, there[topic], itemgetter(0, 1), allowed=allowed)
        yield from sentences(f"records of {topic} that were acknowledged", found)


def _order(outcome: Outcome) -> Iterator[str]:
    """The records of a send are in a log in the order in which they were sent."""
    if not outcome.scenario.has_producer_ids:
        return
    sends: dict[tuple[int, str, int], list[object]] = defaultdict(list)
    for each in outcome.sent:
        sends[each.send, each.topic, each.partition].append((each.key, each.value))
    for (_, topic, partition), sent in sends.items():
        log = [(each.key, each.value) for each in outcome.logs.get((topic, partition), ())]
        found = compare(sent, log, allowed=KINDS.keys() - {"reordered"})
        yield from sentences(f"a send to {topic}-{partition}", found)


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
    for partition in inputs(outcome):
        places = places_of(outcome, partition)
        wanted = expected_records(outcome, partition)
        must = {each.offset for each in still_there(outcome, partition, wanted)}
        expected = [each._replace(outcome="committed", headers=()) for each in wanted]
        # Rows of different tasks of a micro-batch may come in any order.
        expected, actual = (
            sorted(records, key=lambda each: places(each.offset))
            for records in (expected, rows.pop(partition, []))
        )
        # Not by contents: a copy that a producer without an id wrote has the same.
        found = compare(expected, actual, attrgetter("offset"), must)
        yield from sentences(named(partition), found)
    for partition in rows:
        yield f"rows of {named(partition)}, which does not exist"


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
                yield f"file {name}: {short(row)} is not the record {short(record)}"
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
    for partition in inputs(outcome):
        name = f"{OUTPUT}-{partition[1]}"
        log = outcome.logs.get((OUTPUT, partition[1]), [])
        visible = [(each.key, each.value) for each in log if each.outcome == "committed"]
        read = expected_records(outcome, partition)
        must = {(each.key, each.value) for each in still_there(outcome, partition, read)}
        if sink == "at least once":
            visible = [*dict.fromkeys(visible)]  # the first copy of each
            # A run may end within a micro-batch, whose rows are in the topic already.
            ahead = {(each.key, each.value) for each in outcome.logs[partition]}
            ahead -= {(each.key, each.value) for each in read}
            visible = [each for each in visible if each not in ahead]
        places = places_of(outcome, partition)
        read.sort(key=lambda each: places(each.offset))
        expected = [(each.key, each.value) for each in read]
        if not outcome.scenario.has_producer_ids:
            # The input may have a record twice, so its copies cannot be told apart.
            expected = sorted({*expected}, key=repr)
            yield from sentences(name, compare(expected, sorted(visible, key=repr), must=must))
            continue
        order = {(each.key, each.value): places(each.offset) for each in read}
        batches = [order[each][0] for each in visible if each in order]
        if batches != sorted(batches):
            yield f"{name}: micro-batches are out of order"
        # Rows of different tasks of a micro-batch may come in any order.
        visible.sort(key=lambda each: order.get(each, (0, 0)))
        if sink == "at least once":
            expected = [*dict.fromkeys(expected)]
        yield from sentences(name, compare(expected, visible, must=must))


def _headers(outcome: Outcome) -> Iterator[str]:
    """The Kafka sinks write the headers that were read."""
    reads = outcome.scenario.source.get("includeHeaders") == "true"
    known = {
        each[2:4]: headers_as_read(outcome.scenario.columns, each.headers) if reads else ()
        for partition in inputs(outcome)
        for each in outcome.logs[partition]
    }
    for (topic, number), log in outcome.logs.items():
        wrong = [each for each in log if each.headers != known.get(each[2:4], each.headers)]
        if topic == OUTPUT and wrong:
            yield f"{topic}-{number}: {short(wrong[0])} has other headers than the record read"


def _invented(outcome: Outcome) -> Iterator[str]:
    """What is read and written was sent, to this partition and with this key."""
    scenario = outcome.scenario
    sent = {
        (*part[:2], scenario.values.key(*part[:2], number), scenario.values.of(*part[:2], number))
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
    for row in invented(rows, sent)[:3]:
        yield f"nobody has sent {short(row)}"


def _decoders(outcome: Outcome) -> Iterator[str]:
    yield from outcome.bad_frames


def _steps(outcome: Outcome) -> Iterator[str]:
    """Without a proxy that loses or repeats them, responses come in the order of the requests."""
    kinds = {each.kind for each in outcome.scenario.faults}
    if kinds.isdisjoint(("lose response", "repeat response")):
        yield from (f"a response is out of step: {each}" for each in outcome.out_of_step)


_CHECKS: Final[Mapping[str, Callable[[Outcome], Iterable[str]]]] = {
    CRASHES: _errors,
    "acknowledged records": _acknowledged,
    "order of sends": _order,
    "rows": _files,
    "attempts": _attempts,
    "output": _output,
    "headers": _headers,
    "dead letters": letter_violations,
    "group commits": commit_violations,
    "starts": start_violations,
    "losses": loss_violations,
    "false alarms": false_alarms,
    "plans": plan_violations,
    "limits": limit_violations,
    "refusals": refusal_violations,
    "invented records": _invented,
    "incarnations": incarnation_violations,
    "cut logs": cut_violations,
    "decoders": _decoders,
    "order of responses": _steps,
    "waits": _waits,
    "batch queries": job_violations,
    "group reads": group_violations,
    "follow": follow_violations,
    "level": _level,
}

# An offset may have another record then, and acknowledged records may be gone.
_AFTER_REWRITES: Final = (
    CRASHES,
    "invented records",
    "incarnations",
    "cut logs",
    "decoders",
    "waits",
    "batch queries",
    "level",
)
_ONLY_AFTER_REWRITES: Final = frozenset({"invented records", "incarnations", "cut logs"})
_WITHOUT_REWRITES: Final = tuple(name for name in _CHECKS if name not in _ONLY_AFTER_REWRITES)
