"""Batch queries in a small world: they run, their rows are kept, and a wrong product is found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_protocol.topic_partition import LogBounds, OffsetRange
from kafka_spark_source.planning import batch
from kafka_spark_source.writing.delivery import AtLeastOnce
from tests.simulation.campaign import problems_of
from tests.simulation.drawing import draw
from tests.simulation.run import run
from tests.simulation.scenario import (
    COMMIT_LOG,
    INPUT,
    WRITTEN,
    Job,
    Part,
    Scenario,
    Send,
    Topic,
)
from tests.truth.filters import Filter

SMALL = Scenario(
    seed=1,
    topics=(Topic(INPUT, 2, 2),),
    sends=tuple(
        Send(100.0 * number, "producer-0", "plain", (Part(INPUT, number % 2, 4 * number, 4),))
        for number in range(6)
    ),
    source={"startingOffsets": "earliest"},
)
LATE_MS = 3_000.0
ONCE = {"commitLogTopic": COMMIT_LOG}


def with_job(*jobs: Job) -> Scenario:
    return replace(SMALL, jobs=jobs)


def test_a_read_has_all_rows_with_their_headers() -> None:
    options = {"subscribe": INPUT, "includeHeaders": "true", "minPartitions": "4"}
    scenario = replace(with_job(Job(LATE_MS, "read", options)), has_headers=True)
    outcome, _ = run(scenario)
    (result,) = outcome.jobs
    rows = [row for task in result.tasks for row in task]
    assert result.error is None
    assert len(result.tasks) == 4
    assert len({(row.partition, row.offset) for row in rows}) == 24
    assert {len(row.headers or ()) for row in rows} == {0, 1, 3}


def test_filters_are_pushed_down() -> None:
    options = {"subscribe": INPUT, "pushDownPredicate": "true"}
    filters = (Filter("partition", "EqualTo", 1), Filter("offset", "GreaterThanOrEqual", 5))
    outcome, _ = run(with_job(Job(LATE_MS, "read", options, filters)))
    (result,) = outcome.jobs
    places = {(row.partition, row.offset) for task in result.tasks for row in task}
    assert places == {(1, offset) for offset in range(5, 12)}


def test_writes_and_a_driver_that_dies() -> None:
    scenario = with_job(
        Job(500.0, "write", {}, (), (5, 0, 120)),
        Job(600.0, "write once", ONCE, (), (7,), dies_at_call=12),
        Job(700.0, "write once", ONCE, (), (60, 3)),
    )
    outcome, _ = run(scenario)
    assert [each.error is None for each in outcome.jobs] == [True, False, True]
    assert "ProcessKilledError" in str(outcome.jobs[1].error)
    log = [each for (topic, _), found in outcome.logs.items() if topic == WRITTEN for each in found]
    assert sum(each.outcome == "committed" for each in log) >= 5 + 120 + 60 + 3
    assert problems_of(scenario) == []


def test_a_read_that_leaves_records_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = with_job(Job(LATE_MS, "read", {"subscribe": INPUT, "endingOffsets": "latest"}))
    assert problems_of(scenario) == []

    def too_short(wanted: OffsetRange, log: LogBounds) -> OffsetRange:
        return OffsetRange(wanted.topic_partition, wanted.from_offset, wanted.until_offset - 1)

    monkeypatch.setattr(batch, "_cut", too_short)
    monkeypatch.setattr(batch, "_bind_late", lambda pieces, *_: pieces)
    assert any("missing at the end" in each for each in problems_of(scenario))


def test_a_write_that_loses_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = with_job(Job(500.0, "write", {}, (), (5,)))
    monkeypatch.setattr(AtLeastOnce, "write", lambda *_: None)
    assert any("are not written" in each for each in problems_of(scenario))


def test_all_kinds_of_jobs_are_drawn() -> None:
    jobs = [job for seed in range(200) for job in draw(seed).jobs]
    options = {name for job in jobs for name in job.options}
    assert {job.kind for job in jobs} == {"read", "write", "write once", "group", "follow"}
    assert {
        "subscribe",
        "subscribePattern",
        "assign",
        "startingOffsets",
        "endingOffsets",
        "startingTimestamp",
        "endingTimestamp",
        "startingOffsetsByTimestamp",
        "endingOffsetsByTimestamp",
        "pushDownPredicate",
        "includeHeaders",
    } <= options
    assert any(job.filters for job in jobs)
    assert any(job.dies_at_call for job in jobs)
