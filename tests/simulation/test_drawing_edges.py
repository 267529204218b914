"""What is rare is drawn, and a small world runs each of it; a wrong product is found."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from kafka_formats.upsert import newest
from kafka_protocol.client.consumer import read_topics
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_spark_source.planning import predicates
from tests.simulation import batch_jobs
from tests.simulation.campaign import problems_of
from tests.simulation.drawing import draw
from tests.simulation.job_runner import resolved
from tests.simulation.producers import SLOW
from tests.simulation.run import run
from tests.simulation.scenario import (
    GROUP,
    INPUT,
    Fault,
    Job,
    Part,
    Send,
    Topic,
    from_json,
)
from tests.simulation.test_batch_jobs import LATE_MS, SMALL
from tests.simulation.test_drawing_tables import UPSERT
from tests.truth.filters import Filter


def test_all_forms_are_drawn() -> None:
    scenarios = [*map(draw, range(120))]
    jobs = [job for each in scenarios for job in each.jobs]
    assert any(each.has_blanks for each in scenarios)
    assert any(each.spills and "envelope" in each.source for each in scenarios)
    assert any("message.timestamp.type" in each.topics[0].config for each in scenarios)
    assert any(send.style == SLOW for each in scenarios for send in each.sends)
    assert any("after_ms" in fault.arguments for each in scenarios for fault in each.faults)
    assert {"follow", "group"} <= {job.kind for job in jobs}
    assert any(job.readers == 2 and job.dies_at_call for job in jobs)
    assert any(str(each.value).startswith("~") for job in jobs for each in job.filters)


def test_a_scenario_is_the_same_as_text() -> None:
    for seed in range(40):
        assert from_json(draw(seed).to_json()) == draw(seed)


def test_timestamps_of_records_are_looked_up_when_a_query_begins() -> None:
    job = Job(
        0, "read", {"startingTimestamp": "~4-1"}, (Filter("timestamp", "GreaterThan", "~0-0"),)
    )
    known = resolved(job, [100, 200, 300])
    assert known.options == {"startingTimestamp": "199"}
    assert known.filters[0].value == 100
    assert resolved(Job(0, "read", {"a": "x"}), []).options == {"a": "x"}


@pytest.mark.parametrize(
    "changes",
    [
        {"has_blanks": True},
        {"has_blanks": True, "sink": "exactly once"},
        {"has_blanks": True, "contents": "text", "columns": {"value": "string", "key": "string"}},
        {"topics": (Topic(INPUT, 2, 2, {"message.timestamp.type": "LogAppendTime"}),)},
        {"has_blanks": True, "spills": True, "source": UPSERT | {"startingOffsets": "earliest"}},
        {"source": {"startingOffsets": "group", "kafka.group.id": GROUP}, "begin_ms": 900.0},
    ],
    ids=["blanks", "blanks written", "blank text", "append time", "spill", "group"],
)
def test_a_stream_of_each_form(changes: dict[str, Any]) -> None:
    scenario = replace(SMALL, **changes)
    outcome, _ = run(scenario)
    assert problems_of(scenario) == []
    assert outcome.is_level
    assert any(offset > 0 for offset in outcome.first.values()) == ("begin_ms" in changes)


def test_transactions_that_are_open_at_the_same_time() -> None:
    sends = tuple(
        Send(
            20.0 * number,
            f"between-{number % 3}",
            "abort" if number % 2 else "commit",
            tuple(Part(INPUT, 0, 100 * number + 10 * part, 3) for part in range(3)),
            SLOW,
        )
        for number in range(6)
    )
    source = SMALL.source | {"kafka.isolation.level": "read_committed"}
    scenario = replace(SMALL, sends=sends, source=source)
    outcome, _ = run(scenario)
    assert problems_of(scenario) == []
    outcomes = [each.outcome for each in outcome.logs[INPUT, 0]]
    changes = sum(a != b for a, b in pairwise(outcomes))
    assert changes > 2


FOLLOWED = replace(
    SMALL,
    sends=(*SMALL.sends, Send(1_130.0, "producer-of-new", "plain", (Part(INPUT, 2, 100, 9),))),
    faults=(Fault(1_080.0, "add partitions", 0.0, {"count": 1}),),
    jobs=(Job(350.0, "follow", {}, lasts_ms=3_000.0),),
)


def test_a_read_that_follows_has_added_partitions_from_their_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch_jobs, "FOLLOWS_MS", 3_000.0)
    outcome, _ = run(FOLLOWED)
    assert problems_of(FOLLOWED) == []
    rows = [row for step in outcome.jobs[0].steps for row in step.rows]
    assert len(rows) == 33
    assert sum(row.partition == 2 for row in rows) == 9
    monkeypatch.setattr(read_topics, "EARLIEST_TIMESTAMP", LATEST_TIMESTAMP)
    assert problems_of(FOLLOWED) == ["batch 1: it did not come to the ends of the logs"]


def test_two_readers_of_a_group() -> None:
    jobs = Job(250.0, "group", {}, readers=2), Job(LATE_MS, "group", {}, readers=2)
    scenario = replace(SMALL, jobs=jobs)
    outcome, _ = run(scenario)
    assert problems_of(scenario) == []
    rows = [row for each in outcome.jobs for step in each.steps for row in step.rows]
    assert len(rows) == 24
    assert {each.partition for each in outcome.commits} == {(INPUT, 0), (INPUT, 1)}


def test_a_filter_that_leaves_out_the_next_millisecond_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = {"subscribe": INPUT, "pushDownPredicate": "true"}
    filters = (Filter("timestamp", "GreaterThan", "~3-1"),)
    scenario = replace(SMALL, jobs=(Job(LATE_MS, "read", options, filters),))
    assert problems_of(scenario) == []
    since = predicates._since
    monkeypatch.setattr(predicates, "_since", lambda *limit: since(*limit) + 1)
    assert any(" lost, as " in each for each in problems_of(scenario))


def test_a_spill_that_loses_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = replace(
        SMALL,
        spills=True,
        value_bytes=3_000,
        jobs=(Job(LATE_MS, "read", {"subscribe": INPUT} | UPSERT),),
    )
    assert problems_of(scenario) == []
    spilled: list[object] = []
    spill = newest.NewestRows._spill_buffer

    def noted(self: newest.NewestRows) -> None:
        spilled.append(self)
        spill(self)

    monkeypatch.setattr(newest.NewestRows, "_spill_buffer", noted)
    assert problems_of(scenario) == []
    assert spilled
    monkeypatch.setattr(newest, "_last_rows", lambda keys, rows: rows[:0])
    assert any("missing at the end" in each for each in problems_of(scenario))


def test_a_log_that_is_cut() -> None:
    scenarios = (draw(each) for each in range(400))
    scenario = next(
        each for each in scenarios if any("after_ms" in fault.arguments for fault in each.faults)
    )
    outcome, _ = run(scenario)
    assert problems_of(scenario) == []
    assert len(outcome.cuts) == 1
