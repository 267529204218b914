"""The judge of batch queries: good ones, and each way in which one can be wrong.

`tests/truth/test_bounds.py` tests where a read starts and ends.
"""

from __future__ import annotations

import json

import pytest

from tests.simulation.batch_jobs import written_value
from tests.simulation.disk import Row
from tests.simulation.judge_jobs import job_violations
from tests.simulation.outcome import JobResult, LogRecord, Outcome
from tests.simulation.scenario import (
    INPUT,
    WRITTEN,
    Fault,
    Job,
    JobKind,
    Part,
    Scenario,
    Send,
    Topic,
)
from tests.truth.bounds import LogState
from tests.truth.filters import Filter

COUNT = 10
IN = (INPUT, 0)
COMMITTED_ONLY = {"kafka.isolation.level": "read_committed"}


def record(offset: int, outcome: str = "committed") -> LogRecord:
    return LogRecord(offset, 1_000 + offset, b"k", b"v%d" % offset, outcome)


def rows(*offsets: int) -> list[Row]:
    return [Row(INPUT, 0, each, 1_000 + each, b"k", b"v%d" % each) for each in offsets]


def read(
    found: list[list[Row]],
    options: dict[str, str] | None = None,
    filters: tuple[Filter, ...] = (),
    error: str | None = None,
) -> Outcome:
    """A log of ten records, the third one aborted; eight of them were there before the read."""
    log = [record(each, "aborted" if each == 2 else "committed") for each in range(COUNT)]
    job = Job(0, "read", options or {}, filters)
    result = JobResult(
        job, {IN: LogState(0, 8, 8)}, {IN: LogState(0, COUNT, COUNT)}, found, error, False
    )
    return Outcome(Scenario(1, topics=(Topic(INPUT, 1, 1),)), logs={IN: log}, jobs=[result])


def problems(outcome: Outcome) -> str:
    return "; ".join(job_violations(outcome))


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        ({}, range(8)),
        ({}, range(10)),
        (COMMITTED_ONLY, [0, 1, *range(3, 9)]),
        ({"startingOffsets": '{"in": {"0": 5}}'}, range(5, 8)),
        ({"startingOffsets": '{"in": "earliest"}', "endingOffsets": '{"in": {"0": 4}}'}, range(4)),
        # Nothing is that late when the read begins, so it starts at the end, as it is asked to.
        ({"startingTimestamp": "1009"}, range(8, 10)),
        ({"startingTimestamp": "1009"}, [9]),
        ({"assign": json.dumps({INPUT: [3]})}, []),
    ],
)
def test_good_reads(options: dict[str, str], offsets: list[int]) -> None:
    assert problems(read([rows(*offsets)], options)) == ""


@pytest.mark.parametrize(
    ("options", "found", "reason"),
    [
        ({}, [rows(*range(7))], "1 missing at the end, as 7"),
        ({}, [rows(0, 1, 2, 4, 5, 6, 7)], "1 lost, as 3"),
        ({}, [rows(*range(8)), rows(7)], "1 twice, as 7"),
        ({}, [rows(1, 0, *range(2, 8))], "twice or out of order"),
        (COMMITTED_ONLY, [rows(*range(8))], "1 unknown, as 2"),
        ({"startingOffsets": '{"in": {"0": 5}}'}, [rows(*range(4, 8))], "unknown, as 4"),
        ({"startingTimestamp": "1006"}, [rows(7)], "1 lost, as 6"),
        ({"endingTimestamp": "1006"}, [rows(*range(7))], "unknown, as 6"),
        ({"assign": json.dumps({INPUT: [3]})}, [rows(0)], "not assigned"),
        ({}, [[*rows(*range(8)), Row("x", 0, 0, 0, None, None)]], "does not exist"),
    ],
)
def test_bad_reads(options: dict[str, str], found: list[list[Row]], reason: str) -> None:
    assert reason in problems(read(found, options))


@pytest.mark.parametrize(
    ("wanted", "offsets"),
    [
        (Filter("offset", "GreaterThan", 5), [6, 7]),
        (Filter("offset", "LessThanOrEqual", 1), [0, 1]),
        (Filter("timestamp", "GreaterThanOrEqual", 1_006), [6, 7]),
        (Filter("partition", "In", [1, 2]), []),
        (Filter("topic", "EqualTo", INPUT), [*range(8)]),
    ],
)
def test_filters_leave_out_only_what_they_reject(wanted: Filter, offsets: list[int]) -> None:
    assert problems(read([rows(*offsets)], filters=(wanted,))) == ""
    assert problems(read([rows(*range(8))], filters=(wanted,))) == "", "Spark filters again"
    if offsets:
        assert "1 lost" in problems(read([rows(*offsets[1:])], filters=(wanted,)))


def test_deleted_and_compacted_records_may_be_missing() -> None:
    outcome = read([rows(*range(4, 8))])
    assert "4 lost, as 0" in problems(outcome)
    outcome.starts = {IN: 4}
    assert problems(outcome) == ""
    outcome = read([rows(0, *range(2, 8))])
    outcome.compacted = {IN: frozenset({1})}
    assert problems(outcome) == ""


def test_an_old_leader_may_tell_an_old_end_where_no_epochs_are_told() -> None:
    outcome = read([rows(*range(5))])
    fault = Fault(1, "pause broker", 1, {"node": 1})
    for release, is_wrong in (("4.3", True), ("1.0", False)):
        topics = outcome.scenario.topics
        outcome.scenario = Scenario(1, release=release, topics=topics, faults=(fault,))
        assert bool(problems(outcome)) == is_wrong


def test_a_broker_that_stood_still_may_not_know_partitions_that_were_added() -> None:
    outcome = read([rows(0, 1, 3)], {"kafka.bootstrap.servers": "broker-1.sim:9092"})
    assert "missing" in problems(outcome)
    outcome.scenario = Scenario(1, topics=(Topic(INPUT, 0, 1),))
    assert problems(outcome) == ""


def test_markers_have_timestamps_too() -> None:
    outcome = read([rows(*range(5, 8))], {"startingTimestamp": "1006"})
    assert problems(outcome)
    sends = (Send(0, "producer-1", "commit", (Part(INPUT, 0, 0, 1),)),)
    outcome.scenario = Scenario(1, topics=outcome.scenario.topics, sends=sends)
    assert problems(outcome) == ""


def test_a_query_that_failed_has_no_rows() -> None:
    assert problems(read([], error="KafkaTimeoutError: ...")) == ""


def test_little_is_promised_where_offsets_get_other_records() -> None:
    outcome = read([rows(0)])
    fault = Fault(1, "recreate topic", 0, {})
    outcome.scenario = Scenario(1, topics=outcome.scenario.topics, faults=(fault,))
    assert problems(outcome) == ""


# --- Writes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "copies", "error", "reason"),
    [
        ("write", [1, 2, 1], None, ""),
        ("write", [0, 1, 0], "KafkaError", ""),
        ("write", [1, 0, 1], None, "batch 1: 1 of 3 rows are not written"),
        ("write once", [1, 1, 1], None, ""),
        ("write once", [0, 1, 1], "ProcessKilledError", ""),
        ("write once", [1, 2, 1], None, "batch 1: rows are written [1, 2] times, and not once"),
        ("write once", [1, 1, 1, 1], None, "1 records are unknown"),
    ],
)
def test_writes(kind: JobKind, copies: list[int], error: str | None, reason: str) -> None:
    """A task of three rows, each so often in the log, where an aborted one does not count."""
    log = [
        LogRecord(0, 0, None, written_value(1, 0, number), outcome)
        for number, times in enumerate(copies)
        for outcome in ["committed"] * times + ["aborted"]
    ]
    result = JobResult(Job(0, kind, {}, (), (3,)), {}, {}, [], error, False)
    found = problems(Outcome(Scenario(1), logs={(WRITTEN, 0): log}, jobs=[result]))
    assert found.startswith(reason) if reason else found == ""
