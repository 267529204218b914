"""What records say about tables is drawn in all forms, and a small world runs each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafka_formats.query.evolution import Evolution
from kafka_spark_source.planning.predicates import Predicates
from tests.simulation.campaign import problems_of
from tests.simulation.contents import EVENT_OPTIONS, GROWING_OPTIONS
from tests.simulation.drawing import draw
from tests.simulation.run import run
from tests.simulation.scenario import INPUT, LETTERS, Job, Part, Send
from tests.simulation.test_batch_jobs import LATE_MS, SMALL
from tests.truth.filters import Filter

WITH_LETTERS = {"startingOffsets": "earliest", "deadLetterTopic": LETTERS}
UPSERT = {"envelope": "upsert", "upsert.nullKeys": "keep"}


def test_all_forms_are_drawn() -> None:
    scenarios = [*map(draw, range(120))]
    jobs = [job for each in scenarios for job in each.jobs]
    assert {each.contents for each in scenarios} == {"bytes", "text", "events", "growing"}
    envelopes = {each.source.get("envelope") for each in scenarios}
    assert envelopes == {None, "upsert", "debezium"}
    assert {name for each in scenarios for name in each.columns} == {"key", "value", "headers"}
    assert {each.interface for each in scenarios if each.has_letters} == {"4.0", "4.2"}
    assert any("includeTopicId" in each.source for each in scenarios)
    assert any(job.options.get("envelope") == "upsert" for job in jobs)
    assert any(job.columns for job in jobs)
    assert any(job.kind == "group" and job.dies_at_call for job in jobs)


@pytest.mark.parametrize(
    "changes",
    [
        {"contents": "text", "columns": {"value": "string"}, "source": WITH_LETTERS},
        {"contents": "events", "source": WITH_LETTERS | EVENT_OPTIONS},
        {"contents": "events", "source": WITH_LETTERS | EVENT_OPTIONS, "interface": "4.0"},
        {"source": UPSERT | {"startingOffsets": "earliest"}},
    ],
)
def test_a_stream_of_each_form(changes: dict[str, Any]) -> None:
    scenario = replace(SMALL, **changes)
    outcome, _ = run(scenario)
    assert problems_of(scenario) == []
    assert outcome.is_level
    letters = [each for (topic, _), log in outcome.logs.items() if topic == LETTERS for each in log]
    rows = [row for batch in outcome.batches.values() for row in batch]
    assert bool(letters) == scenario.has_letters
    if scenario.has_letters:
        assert len(rows) + len(letters) == 24


GROWING = replace(
    SMALL,
    contents="growing",
    sends=tuple(
        Send(400.0 * number, "producer-0", "plain", (Part(INPUT, number % 2, 30 * number, 30),))
        for number in range(6)
    ),
    source=GROWING_OPTIONS | {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "40"},
)


def test_a_query_that_does_not_stop_at_new_fields_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refusal(*_: object) -> None:
        """A name by which it is pickled."""

    monkeypatch.setattr(Evolution, "refusal", refusal)
    assert any(" altered, as " in each for each in problems_of(GROWING))


@pytest.mark.parametrize("interface", ["4.0", "4.2"])
def test_a_schema_that_grows(interface: Any) -> None:
    scenario = replace(GROWING, interface=interface)
    assert scenario.grows_at_ms == 800.0
    outcome, _ = run(scenario)
    assert problems_of(scenario) == []
    evolved = [each for each in outcome.errors if "[KAFKA_SCHEMA_EVOLVED]" in each]
    assert len(evolved) == 1
    rows = [row for batch in outcome.batches.values() for row in batch]
    assert len(rows) == 180


def test_batches_of_tables_and_text() -> None:
    options = {"subscribe": "in", "includeHeaders": "true"}
    scenario = replace(
        SMALL,
        contents="text",
        has_headers=True,
        jobs=(
            Job(LATE_MS, "read", options | UPSERT),
            Job(LATE_MS, "read", options, columns={"value": "string", "headers": "map"}),
        ),
    )
    outcome, _ = run(scenario)
    assert problems_of(scenario) == []
    counts = [sum(map(len, each.tasks)) for each in outcome.jobs]
    assert counts[0] < counts[1] == 24


def test_a_filter_that_takes_the_newest_away_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"subscribe": INPUT, "pushDownPredicate": "true"} | UPSERT
    filters = (Filter("offset", "LessThanOrEqual", 7),)
    scenario = replace(SMALL, jobs=(Job(LATE_MS, "read", options, filters),))
    assert problems_of(scenario) == []
    monkeypatch.setattr(Predicates, "of_whole_partitions", lambda self: self)
    assert any("is older than the record" in each for each in problems_of(scenario))


def test_a_group_goes_on_where_it_ended() -> None:
    jobs = Job(250.0, "group", {}), Job(LATE_MS, "group", {}, dies_at_call=9)
    scenario = replace(SMALL, jobs=(*jobs, Job(LATE_MS + 1, "group", {})))
    outcome, _ = run(scenario)
    assert problems_of(scenario) == []
    rows = [[row for step in each.steps for row in step.rows] for each in outcome.jobs]
    assert 0 < len(rows[0]) < 24
    assert "ProcessKilledError" in str(outcome.jobs[1].error)
    assert len({(row.partition, row.offset) for each in rows for row in each}) == 24
