"""Draws what is rare: blank records, log append time, open transactions side by side, and so on.

Applied to a scenario that is drawn; with a random number generator of its own, so that the rest of
a seed stays what it was.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from kafka_protocol.versions.releases import parse_release
from tests.simulation.drawing_jobs import options_without_spark
from tests.simulation.producers import SLOW
from tests.simulation.scenario import (
    INPUT,
    Fault,
    Job,
    Part,
    Scenario,
    Send,
    SendKind,
)
from tests.simulation.spark import DRIVER_HOST
from tests.truth.filters import Filter

_HAVE_TRANSACTIONS: Final = (0, 11)
_COMPARE_EPOCHS: Final = (2, 7)
_LASTS_MS: Final = 12_000
# Beyond the numbers of all other records of a partition.
_FIRST_BETWEEN: Final = 10_000
_FIRST_ADDED: Final = 20_000
_FIRST_AFTER_CUT: Final = 30_000
_FIRST_UNEVEN: Final = 40_000
_UNEVEN_BYTES: Final = 300
# Maps of offsets name all partitions, and so none may be added.
_MAPS: Final = ("startingOffsets", "startingOffsetsByTimestamp")


def with_edges(rng: random.Random, scenario: Scenario) -> Scenario:
    """The scenario with some of these."""
    for share, change in _CHANGES:
        # Each draws as much, whatever the others did.
        own = random.Random(rng.random())
        if rng.random() < share:
            scenario = change(own, scenario)
    return replace(
        scenario,
        sends=tuple(sorted(scenario.sends, key=lambda each: each.at_ms)),
        faults=tuple(sorted(scenario.faults, key=lambda each: each.at_ms)),
        jobs=tuple(sorted(scenario.jobs, key=lambda each: each.at_ms)),
    )


def _with_blanks(rng: random.Random, scenario: Scenario) -> Scenario:
    """Keys and values that are null or empty: where values are not decoded."""
    if scenario.contents not in {"bytes", "text"}:
        return scenario
    return replace(scenario, has_blanks=True)


def _with_append_time(rng: random.Random, scenario: Scenario) -> Scenario:
    """Timestamps of the brokers, where all records come through them."""
    is_old = parse_release(scenario.release) < _HAVE_TRANSACTIONS
    if is_old or any(each.kind == "appended" for each in scenario.sends):
        return scenario
    config = {"message.timestamp.type": "LogAppendTime"}
    topics = tuple(replace(each, config=each.config | config) for each in scenario.topics)
    return replace(scenario, topics=topics)


def _with_transactions_between(rng: random.Random, scenario: Scenario) -> Scenario:
    """Transactions of several producers in the same partitions that are open at the same time."""
    is_old = parse_release(scenario.release) < _HAVE_TRANSACTIONS
    is_compacted = any(each.kind == "compact" for each in scenario.faults)
    has_ids = scenario.producer.get("kafka.enable.idempotence") != "false"
    if is_old or is_compacted or not has_ids or scenario.contents == "growing":
        return scenario
    partitions = rng.sample(range(scenario.topics[0].partitions), 2)
    sends = scenario.sends + tuple(_between(rng, partitions))
    source = dict(scenario.source)
    if rng.random() < 0.7:
        source["kafka.isolation.level"] = "read_committed"
    if rng.random() < 0.5:
        source["kafka.max.partition.fetch.bytes"] = "2000"
    return replace(scenario, sends=sends, source=source)


def _between(rng: random.Random, partitions: list[int]) -> Iterator[Send]:
    number = _FIRST_BETWEEN
    for producer in range(3):
        at_ms = rng.uniform(200, 2_000)
        for _ in range(4):
            parts = []
            for partition in rng.choices(partitions, k=rng.randint(2, 4)):
                parts.append(Part(INPUT, partition, number, rng.randint(1, 8)))
                number += 10
            kind: SendKind = rng.choice(("commit", "abort"))
            yield Send(round(at_ms, 1), f"between-{producer}", kind, tuple(parts), SLOW)
            at_ms += rng.uniform(100, 2_500)


def _with_little_memory(rng: random.Random, scenario: Scenario) -> Scenario:
    return replace(scenario, spills=True)


def _with_exact_times(rng: random.Random, scenario: Scenario) -> Scenario:
    """A batch whose limits are timestamps of records, or lie one ms beside them."""

    def moment() -> str:
        return f"~{rng.randrange(1_000)}-{rng.choice((0, 1, 1))}"

    options = {"subscribe": INPUT, "startingOffsetsByTimestampStrategy": "latest"}
    filters: tuple[Filter, ...] = ()
    match rng.choice(("filter", "filter", "start", "end")):
        case "filter":
            options["pushDownPredicate"] = "true"
            operator = rng.choice(("GreaterThan", "GreaterThan", "GreaterThanOrEqual"))
            filters = (Filter("timestamp", operator, moment()),)
        case "start":
            options["startingTimestamp"] = moment()
        case _:
            options["endingTimestamp"] = moment()
    at_ms = round(rng.uniform(4_000, _LASTS_MS + 4_000), 1)
    return replace(scenario, jobs=(*scenario.jobs, Job(at_ms, "read", options, filters)))


def _with_follow(rng: random.Random, scenario: Scenario) -> Scenario:
    """A read without an end, while partitions are added."""
    if scenario.loses_records:
        return scenario
    at_ms, options = round(rng.uniform(500, 4_000), 1), options_without_spark(rng)
    job = Job(at_ms, "follow", options, lasts_ms=8_000.0)
    scenario = replace(scenario, jobs=(*scenario.jobs, job))
    has_map = any(scenario.source.get(name, "").startswith("{") for name in _MAPS)
    if has_map or any(each.kind == "add partitions" for each in scenario.faults):
        return scenario
    added_ms = round(at_ms + rng.uniform(1_000, 5_000), 1)
    fault = Fault(added_ms, "add partitions", 0.0, {"count": 1})
    part = Part(INPUT, scenario.topics[0].partitions, _FIRST_ADDED, 30)
    send = Send(round(added_ms + 50, 1), "producer-of-new", "plain", (part,))
    return replace(scenario, faults=(*scenario.faults, fault), sends=(*scenario.sends, send))


def _with_readers(rng: random.Random, scenario: Scenario) -> Scenario:
    """Reads of a group by two readers at the same time, some of which die."""
    if scenario.loses_records or any(each.kind == "group" for each in scenario.jobs):
        return scenario
    options = options_without_spark(rng)
    moments = sorted(round(rng.uniform(300, 14_000), 1) for _ in range(3))
    jobs = tuple(
        Job(at_ms, "group", options, dies_at_call=dies_at, readers=2)
        for at_ms, dies_at in zip(moments, (None, rng.randint(1, 90), None), strict=True)
    )
    return replace(scenario, jobs=(*scenario.jobs, *jobs))


def _with_cut_log(rng: random.Random, scenario: Scenario) -> Scenario:
    """A log that loses its end while a slow read is there, and with little else."""
    if parse_release(scenario.release) < _COMPARE_EPOCHS or scenario.contents != "bytes":
        return scenario
    begin_ms = round(rng.uniform(5_000, 7_000), 1)
    after_ms = 4_000 + round(rng.uniform(300, 2_000), 1)
    partition = rng.randrange(scenario.topics[0].partitions)
    arguments = {
        "partition": partition,
        "node": rng.randint(1, scenario.nodes),
        "after_ms": after_ms,
    }
    cut = Fault(begin_ms - 4_000, "unclean election", after_ms + 500, arguments)
    # At once, so that the new log has the offsets that were read of the old one.
    part = Part(INPUT, partition, _FIRST_AFTER_CUT, 300)
    at_ms = round(cut.at_ms + after_ms + 30, 1)
    later = Send(at_ms, "another", "appended", (part,), "2 none")
    sends = (s for s in scenario.sends if {part.topic for part in s.parts} == {INPUT})
    links = {"hosts": ["executor-1", "executor-2"], "nodes": [*range(1, scenario.nodes + 1)]}
    source = {
        "startingOffsets": "earliest",
        "kafka.max.partition.fetch.bytes": "1000",
        "coalescePartitions": "false",
        "failOnDataLoss": rng.choice(("true", "true", "false")),
    }
    return replace(
        scenario,
        trigger="default",
        sink="files",
        topics=(replace(scenario.topics[0], replication=3, config={}),),
        sends=(*sends, later),
        faults=(cut, Fault(begin_ms, "slow network", 5_000.0, links)),
        jobs=(),
        source=source,
        begin_ms=begin_ms,
        value_bytes=300,
        has_blanks=False,
        has_racks=False,
        slots=6,
        speculation_ms=None,
    )


def _with_new_leaders(rng: random.Random, scenario: Scenario) -> Scenario:
    """Leaders that change again and again, and small responses that have batches of several."""
    if scenario.rewrites:
        return scenario
    faults = tuple(
        Fault(
            round(rng.uniform(300, 10_000), 1),
            "elect",
            0.0,
            {
                "topic": INPUT,
                "partition": rng.randrange(scenario.topics[0].partitions),
                "node": rng.randint(1, scenario.nodes),
            },
        )
        for _ in range(12)
    )
    size = str(scenario.value_bytes * rng.choice((20, 60)) + 1_000)
    source = scenario.source | {"kafka.max.partition.fetch.bytes": size}
    if rng.random() < 0.6:
        source["coalescePartitions"] = "false"
    batch_bytes = str(10 * (scenario.value_bytes + 20))
    producer = scenario.producer | {"kafka.batch.size": batch_bytes}
    faults = (*scenario.faults, *faults)
    return replace(scenario, faults=faults, source=source, producer=producer)


def _with_lone_leader(rng: random.Random, scenario: Scenario) -> Scenario:
    """A broker that leads without replicas, and then dies: what only it has is not acknowledged."""
    if parse_release(scenario.release) < _HAVE_TRANSACTIONS or scenario.rewrites:
        return scenario  # the first have no leader epochs either
    node, at_ms = {"node": rng.randint(1, scenario.nodes)}, round(rng.uniform(500, 8_000), 1)
    alone = Fault(at_ms, "isolate broker", 4_000.0, node)
    end = Fault(round(at_ms + rng.uniform(500, 3_000), 1), "kill broker", 5_000.0, node)
    return replace(scenario, faults=(*scenario.faults, alone, end))


def _with_lost_ends(rng: random.Random, scenario: Scenario) -> Scenario:
    """Requests to end transactions of an exactly-once write that do not arrive."""
    if scenario.sink != "exactly once":
        return scenario
    arguments = {
        "api": "END_TXN",
        "way": "request",
        "hosts": [DRIVER_HOST],
        "nodes": [*range(1, scenario.nodes + 1)],
    }
    faults = tuple(
        Fault(round(rng.uniform(500, 12_000), 1), "break at an API", 2_000.0, arguments)
        for _ in range(3)
    )
    return replace(scenario, faults=(*scenario.faults, *faults))


def _with_uneven_batches(rng: random.Random, scenario: Scenario) -> Scenario:
    """Sends whose first batch is too large for the brokers, and whose second one is not."""
    if scenario.rewrites or scenario.contents == "growing":
        return scenario
    topic, *others = scenario.topics
    topic = replace(topic, config=topic.config | {"max.message.bytes": "6000"})
    producer = {k: v for k, v in scenario.producer.items() if k != "kafka.compression.type"}
    producer["kafka.batch.size"] = str(30 * (_UNEVEN_BYTES + 20))
    sends = tuple(
        Send(
            round(rng.uniform(200, _LASTS_MS), 1),
            f"uneven-{number}",
            "plain",
            (Part(INPUT, rng.randrange(topic.partitions), _FIRST_UNEVEN + 100 * number, 35),),
        )
        for number in range(4)
    )
    return replace(
        scenario,
        topics=(topic, *others),
        producer=producer,
        sends=(*scenario.sends, *sends),
        value_bytes=_UNEVEN_BYTES,
    )


_CHANGES: Final[tuple[tuple[float, Callable[[random.Random, Scenario], Scenario]], ...]] = (
    (0.35, _with_blanks),
    (0.15, _with_append_time),
    (0.3, _with_transactions_between),
    (0.5, _with_little_memory),
    (0.25, _with_exact_times),
    (0.12, _with_follow),
    (0.1, _with_readers),
    (0.15, _with_new_leaders),
    (0.09, _with_cut_log),
    (0.08, _with_lone_leader),
    (0.5, _with_lost_ends),
    (0.1, _with_uneven_batches),
)
