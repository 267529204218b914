"""Draws the batch queries of a scenario: reads with all kinds of limits, and writes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from kafka_protocol.versions.releases import parse_release
from tests.simulation.kafka.addresses import address_of
from tests.simulation.kafka.settings import BrokerSettings
from tests.simulation.scenario import COMMIT_LOG, INPUT, Fault, Job, Scenario
from tests.simulation.scheduler import START_MS
from tests.truth.drawing import Table, draw_options
from tests.truth.filters import Filter

_LASTS_MS: Final = 14_000
_READ_OPTIONS: Final[Table] = (
    (0.3, "minPartitions", ("2", "9", "20")),
    (0.2, "maxRecordsPerPartition", ("50", "150")),
    (0.3, "coalescePartitions", ("false",)),
    (0.4, "includeHeaders", ("true",)),
    (0.3, "failOnDataLoss", ("false",)),
    (0.5, "kafka.isolation.level", ("read_committed",)),
    (0.2, "kafka.max.partition.fetch.bytes", ("1000", "20000")),
    (0.2, "kafka.client.rack", ("rack-2",)),
    (0.2, "fetchOffset.numRetries", ("3",)),
    (0.7, "startingOffsetsByTimestampStrategy", ("latest",)),
    (0.1, "groupIdPrefix", ("ignored",)),
    (0.1, "maxOffsetsPerTrigger", ("7",)),
)


def _moment(rng: random.Random) -> int:
    return int(START_MS) + rng.randint(0, _LASTS_MS)


def _everywhere(rng: random.Random, values: Callable[[int], object]) -> str:
    return json.dumps({INPUT: {str(number): values(number) for number in range(6)}})


_STARTS: Final[tuple[Callable[[random.Random], dict[str, str]], ...]] = (
    lambda rng: {},
    lambda rng: {},
    lambda rng: {"startingOffsets": "earliest"},
    lambda rng: {"startingOffsets": json.dumps({INPUT: "earliest"})},
    lambda rng: {"startingOffsets": _everywhere(rng, lambda n: rng.choice((-2, 0, 3, 25)))},
    lambda rng: {"startingOffsets": f"latest-{rng.randint(1, 300)}"},
    lambda rng: {"startingOffsets": f"-{rng.randint(1, 9)}s"},
    lambda rng: {
        "startingOffsets": _everywhere(rng, lambda n: rng.choice(("latest-9", "-2s", -2)))
    },
    lambda rng: {"startingTimestamp": str(_moment(rng))},
    lambda rng: {"startingOffsetsByTimestamp": _everywhere(rng, lambda n: _moment(rng))},
)
_ENDS: Final[tuple[Callable[[random.Random], dict[str, str]], ...]] = (
    lambda rng: {},
    lambda rng: {},
    lambda rng: {"endingOffsets": "latest"},
    lambda rng: {"endingOffsets": _everywhere(rng, lambda n: rng.choice((-1, 30, 90)))},
    lambda rng: {"endingOffsets": f"latest-{rng.randint(1, 50)}"},
    lambda rng: {"endingTimestamp": str(_moment(rng))},
    lambda rng: {"endingOffsetsByTimestamp": _everywhere(rng, lambda n: _moment(rng))},
)
_STRATEGIES: Final[tuple[Callable[[random.Random], dict[str, str]], ...]] = (
    lambda rng: {"subscribe": INPUT},
    lambda rng: {"subscribe": INPUT},
    lambda rng: {"subscribePattern": f"^{INPUT}$"},
    lambda rng: {"assign": json.dumps({INPUT: [*range(6)]})},
)
_FILTERS: Final[tuple[Callable[[random.Random], Filter], ...]] = (
    lambda rng: Filter("partition", "EqualTo", rng.randrange(6)),
    lambda rng: Filter("partition", "In", [0, 3]),
    lambda rng: Filter("partition", "LessThan", 4),
    lambda rng: Filter("offset", "GreaterThan", rng.randint(0, 100)),
    lambda rng: Filter("offset", "GreaterThanOrEqual", rng.randint(0, 100)),
    lambda rng: Filter("offset", "LessThanOrEqual", rng.randint(50, 200)),
    lambda rng: Filter("topic", "EqualTo", INPUT),
    lambda rng: Filter("timestamp", "GreaterThanOrEqual", _moment(rng)),
    lambda rng: Filter("timestamp", "GreaterThan", _moment(rng)),
)


def draw_jobs(rng: random.Random, scenario: Scenario) -> Iterator[Job]:
    """Some batch queries, in a part of the scenarios."""
    if rng.random() > 0.4:
        return
    for _ in range(rng.randint(1, 3)):
        at_ms = round(rng.uniform(200, _LASTS_MS + 4_000), 1)
        if rng.random() < 0.75:
            yield Job(at_ms, "read", *_read(rng))
        else:
            yield _write(rng, scenario, at_ms)


def _reads_of_paused(rng: random.Random, scenario: Scenario) -> Iterator[Job]:
    """Reads up to the end that begin before anybody knows that a broker stands still."""
    for fault in scenario.faults:
        if fault.kind == "pause broker" and rng.random() < 0.5:
            at_ms = round(fault.at_ms + rng.uniform(1, 300), 1)
            yield Job(at_ms, "read", {"subscribe": INPUT}, ())


def _with_replaced_leader(rng: random.Random, scenario: Scenario) -> Scenario:
    """The scenario with a broker that others replace, and a read that asks it first as it goes on.

    For a moment it knows neither the new leaders nor what they have written.
    """
    node = rng.randint(1, scenario.nodes)
    at_ms, lasts_ms = rng.uniform(200, 3_000), rng.uniform(1.1, 1.5) * BrokerSettings.session_ms
    pause = Fault(round(at_ms, 1), "pause broker", round(lasts_ms, 1), {"node": node})
    host, port = address_of(node)
    options = {"subscribe": INPUT, "kafka.bootstrap.servers": f"{host}:{port}"}
    read = Job(round(at_ms + lasts_ms - rng.uniform(1, 500), 1), "read", options, ())
    faults = sorted((*scenario.faults, pause), key=lambda each: each.at_ms)
    return replace(scenario, faults=tuple(faults), jobs=(*scenario.jobs, read))


def options_without_spark(rng: random.Random) -> dict[str, str]:
    """Of a read without Spark."""
    options = {"isolation.level": "read_committed"} if rng.random() < 0.5 else {}
    if rng.random() < 0.5:
        options["max.partition.fetch.bytes"] = "2000"
    return options


def _read(rng: random.Random) -> tuple[dict[str, str], tuple[Filter, ...]]:
    options = draw_options(rng, _READ_OPTIONS)
    for choices in (_STRATEGIES, _STARTS, _ENDS):
        options |= rng.choice(choices)(rng)
    filters: tuple[Filter, ...] = ()
    if rng.random() < 0.35:
        options["pushDownPredicate"] = "true"
        filters = tuple(rng.choice(_FILTERS)(rng) for _ in range(rng.randint(1, 2)))
    return options, filters


def _write(rng: random.Random, scenario: Scenario, at_ms: float) -> Job:
    counts = tuple(rng.choice((0, 5, 60, 200)) for _ in range(rng.randint(1, 4)))
    can_transact = parse_release(scenario.release) >= (0, 11)
    if can_transact and rng.random() < 0.6:
        dies_at = rng.choice((None, None, rng.randint(1, 40)))
        job = Job(at_ms, "write once", {"commitLogTopic": COMMIT_LOG}, (), counts)
        return job._replace(dies_at_call=dies_at)
    return Job(at_ms, "write", {}, (), counts)


def with_jobs(rng: random.Random, scenario: Scenario) -> Scenario:
    """The scenario with its batch queries, in the order of their times."""
    drawn = [*draw_jobs(rng, scenario), *_reads_of_paused(rng, scenario)]
    scenario = replace(scenario, jobs=tuple(drawn))
    if parse_release(scenario.release) >= (2, 1) and rng.random() < 0.1:
        scenario = _with_replaced_leader(rng, scenario)
    return replace(scenario, jobs=tuple(sorted(scenario.jobs, key=lambda each: each.at_ms)))
