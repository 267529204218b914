"""Draws what records say about the rows of tables: envelopes, text, dead letters, and groups.

Applied to a scenario that is drawn; with a random number generator of its own, so that the rest of
a seed stays what it was.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kafka_protocol.versions.releases import parse_release
from tests.simulation.contents import EVENT_OPTIONS, GROWING_OPTIONS, Kind
from tests.simulation.drawing_jobs import options_without_spark
from tests.simulation.scenario import LETTERS, Job, Scenario

# Brokers below have no headers, which tell why a record is a dead letter.
_HAVE_HEADERS: Final = (0, 11)
_UPSERT: Final = {"envelope": "upsert", "upsert.nullKeys": "keep"}
_LASTS_MS: Final = 16_000
# The columns of these are not those of records.
_DECODED: Final = ("events", "growing")


def with_tables(rng: random.Random, scenario: Scenario) -> Scenario:
    """The scenario, perhaps with an envelope, columns of other types, dead letters or a group."""
    scenario = _with_contents(rng, scenario)
    scenario = _with_upsert(rng, scenario)
    scenario = _with_topic_ids(rng, scenario)
    jobs = [_table_of(rng, each) if each.kind == "read" else each for each in scenario.jobs]
    if not scenario.loses_records and rng.random() < 0.1:
        jobs += _group_reads(rng)
    return replace(scenario, jobs=tuple(sorted(jobs, key=lambda each: each.at_ms)))


def _with_contents(rng: random.Random, scenario: Scenario) -> Scenario:
    """Values that are decoded, and in part cannot be."""
    share = rng.random()
    if share >= 0.25:
        return scenario
    source = dict(scenario.source)
    contents: Kind
    columns: dict[str, str]
    if share < 0.08 and scenario.sink == "files" and not scenario.loses_records:
        return replace(scenario, contents="growing", source=source | GROWING_OPTIONS)
    if share < 0.15 or scenario.sink != "files":
        contents, columns = "text", {"value": "string"}
        if rng.random() < 0.5:
            columns["key"] = "string"
        if "includeHeaders" in source and rng.random() < 0.7:
            columns["headers"] = "map"
    else:
        contents, columns = "events", {}
        source |= EVENT_OPTIONS
    can_put_aside = parse_release(scenario.release) >= _HAVE_HEADERS
    if can_put_aside and (contents == "events" or rng.random() < 0.7):
        source["deadLetterTopic"] = LETTERS
    elif contents == "events":
        source["mode"] = "DROPMALFORMED"
    return replace(scenario, contents=contents, columns=columns, source=source)


def _with_upsert(rng: random.Random, scenario: Scenario) -> Scenario:
    """The newest record of each key: not where compaction or a repetition decides which that is."""
    is_compacted = any(each.kind == "compact" for each in scenario.faults)
    if scenario.sink == "at least once" or scenario.contents in _DECODED or is_compacted:
        return scenario
    if rng.random() >= 0.15:
        return scenario
    source = {k: v for k, v in scenario.source.items() if k != "maxRecordsPerPartition"}
    return replace(scenario, source=source | _UPSERT)


def _with_topic_ids(rng: random.Random, scenario: Scenario) -> Scenario:
    is_recreated = any(each.kind == "recreate topic" for each in scenario.faults)
    if not is_recreated and rng.random() >= 0.1:
        return scenario
    return replace(scenario, source=scenario.source | {"includeTopicId": "true"})


def _table_of(rng: random.Random, job: Job) -> Job:
    """The read of a batch, perhaps of a table, or with columns of other types."""
    share = rng.random()
    if share < 0.3:
        options = {k: v for k, v in job.options.items() if k != "maxRecordsPerPartition"}
        job = job._replace(options=options | _UPSERT)
    columns = {"value": "string"} if rng.random() < 0.2 else {}
    if columns and "includeHeaders" in job.options:
        columns["headers"] = "map"
    return job._replace(columns=columns)


def _group_reads(rng: random.Random) -> Iterator[Job]:
    """Reads of a group, one after the other; the last one ends by itself."""
    options = options_without_spark(rng)
    moments = sorted(round(rng.uniform(300, _LASTS_MS), 1) for _ in range(rng.randint(2, 5)))
    for at_ms in moments[:-1]:
        dies_at = rng.choice((None, rng.randint(1, 120)))
        yield Job(at_ms, "group", options, dies_at_call=dies_at)
    yield Job(moments[-1], "group", options)
