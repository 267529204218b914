"""Draws the scenario of a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kafka_protocol.versions.releases import parse_release
from tests.simulation.drawing_edges import with_edges
from tests.simulation.drawing_jobs import with_jobs
from tests.simulation.drawing_late import with_late_requests
from tests.simulation.drawing_query import MINIMUMS, with_query
from tests.simulation.drawing_tables import with_tables
from tests.simulation.faults import draw_faults
from tests.simulation.kafka.services import APACHE, SERVICES
from tests.simulation.scenario import (
    INPUT,
    RELEASES,
    Fault,
    Part,
    Scenario,
    Send,
    SendKind,
    Sink,
    Topic,
)
from tests.truth.drawing import Table, draw_options

_RECORDS: Final = 2_000
_PARTITIONS: Final = 6
_LASTS_MS: Final = 12_000.0  # records are sent during this time

# Options of the source: each is drawn with its probability.
_SOURCE_OPTIONS: Final[Table] = (
    (0.5, "maxOffsetsPerTrigger", ("200", "400", "1000")),
    (0.2, "minPartitions", ("2", "8")),
    (0.15, "maxRecordsPerPartition", ("100", "200")),
    (0.2, "coalescePartitions", ("false",)),
    (0.15, "minOffsetsPerTrigger", ("100",)),
    (0.1, "minOffsetsPerTopic", ("50",)),
    (0.1, "kafka.fetch.max.wait.ms", ("50",)),
    (0.2, "kafka.max.partition.fetch.bytes", ("2000", "20000")),
    (0.2, "kafka.request.timeout.ms", ("3000", "10000")),
    (0.1, "kafka.metadata.max.age.ms", ("0", "5000")),
    (0.1, "kafka.client.rack", ("rack-2",)),
)
_WRITE_OPTIONS: Final[Table] = (
    (0.3, "kafka.compression.type", ("gzip", "snappy", "lz4", "zstd")),
    (0.2, "kafka.max.in.flight.requests.per.connection", ("1", "2")),
    (0.2, "kafka.request.timeout.ms", ("3000", "10000")),
)


_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


def draw(seed: int) -> Scenario:
    """The scenario of a seed."""
    rng = random.Random(f"{seed} scenario")
    release = rng.choice(("4.3",) * 5 + RELEASES)
    can_transact = parse_release(release) >= (0, 11)
    sinks: list[Sink] = ["files", "files", "at least once"]
    if can_transact:
        sinks += ["exactly once", "exactly once"]
    # With the largest ones responses are received in memory of their own.
    value_bytes = rng.choice((8, 40, 40, 300, 3_000))
    scenario = Scenario(
        seed,
        release=release,
        interface=rng.choice(("4.2", "4.2", "4.0")),
        trigger=rng.choice(("default",) * 6 + ("available now", "available now", "once")),
        sink=rng.choice(sinks),
        topics=(Topic(INPUT, _PARTITIONS, rng.choice((2, 3, 3))),),
        sends=tuple(sorted(_sends(rng, release))),
        source=_source(rng, value_bytes),
        write=_write(rng, release, value_bytes),
        producer=_write(rng, release, value_bytes),
        value_bytes=value_bytes,
        slots=rng.choice((2, 4, 6)),
        speculation_ms=rng.choice((None, None, 200.0, 2_000.0)),
        loser_ms=rng.choice((1.0, 50.0, 5_000.0)),
        orphan_ms=rng.choice((0.0, 0.0, 300.0, 20_000.0)),
        restart_ms=rng.choice((300.0, 1_000.0, 3_000.0)),
        pause_ms=rng.choice((300.0, 1_000.0, 1_300.0, 1_600.0)),
    )
    scenario = replace(scenario, faults=_faults(rng, scenario))
    scenario = replace(scenario, sends=(*scenario.sends, *_sends_to_new(scenario)))
    if scenario.loses_records:
        # After a loss a micro-batch that is repeated may differ, which exactly-once writes refuse.
        sink: Sink = "at least once" if scenario.sink == "exactly once" else scenario.sink
        source = scenario.source | {"failOnDataLoss": rng.choice(("false", "false", "true"))}
        scenario = replace(scenario, sink=sink, source=source)
    scenario = with_query(random.Random(f"{seed} query"), scenario)
    scenario = with_jobs(random.Random(f"{seed} jobs"), scenario)
    scenario = with_tables(random.Random(f"{seed} tables"), scenario)
    scenario = with_edges(random.Random(f"{seed} edges"), scenario)
    scenario = with_late_requests(random.Random(f"{seed} late"), scenario)
    return _with_service(random.Random(f"{seed} service"), scenario)


_HAVE_SERVICES: Final = (2, 8)


def _with_service(rng: random.Random, scenario: Scenario) -> Scenario:
    """The scenario, in half of the runs with brokers of a service."""
    name = rng.choice((*[APACHE] * (len(SERVICES) - 1), *SERVICES))
    if parse_release(scenario.release) < _HAVE_SERVICES:
        return scenario
    without_spark = dict(SERVICES[name].client)
    options = {f"kafka.{key}": value for key, value in without_spark.items()}
    return replace(
        scenario,
        service=name,
        source=scenario.source | options,
        write=scenario.write | options,
        producer=scenario.producer | options,
        jobs=tuple(
            job._replace(
                options=job.options
                | (without_spark if job.kind in {"group", "follow"} else options)
            )
            for job in scenario.jobs
        ),
    )


# Without leader epochs (KIP-101) brokers lose acknowledged records when one leader ends after
# another; one end alone loses nothing.
_LOSING_WITHOUT_EPOCHS: Final = ("kill broker", "pause broker", "roll broker")
_MOVING: Final = ("elect", "isolate broker", "add partitions")


def _faults(rng: random.Random, scenario: Scenario) -> tuple[Fault, ...]:
    faults = draw_faults(rng, scenario)
    if not scenario.has_producer_ids:  # nor leader epochs
        losing = [each for each in faults if each.kind in _LOSING_WITHOUT_EPOCHS]
        may_have_one = not any(each.kind in _MOVING for each in faults)
        dropped = losing[1:] if may_have_one else losing
        faults = tuple(each for each in faults if each not in dropped)
    if any(each.kind in ("commit", "abort") for each in scenario.sends):
        # Compaction removes markers, and then the judge cannot tell what became of records.
        faults = tuple(each for each in faults if each.kind != "compact")
    return faults


def _source(rng: random.Random, value_bytes: int) -> dict[str, str]:
    starting = rng.choice(("earliest",) * 9 + ("latest",))
    source = {"startingOffsets": starting, **draw_options(rng, _SOURCE_OPTIONS)}
    if rng.random() < 0.15:
        source["maxBytesPerTrigger"] = str((value_bytes + 20) * rng.choice((200, 400)))
    if MINIMUMS & source.keys():  # else the last records wait for a quarter of an hour
        source["maxTriggerDelay"] = "2s"
    if rng.random() < 0.6:
        source["kafka.isolation.level"] = "read_committed"
    return source


def _write(rng: random.Random, release: str, value_bytes: int) -> dict[str, str]:
    options = draw_options(rng, _WRITE_OPTIONS)
    if rng.random() < 0.3:
        records = rng.choice((1, 30, 30, 30, 130, 130, 130))
        options["kafka.batch.size"] = str((value_bytes + 20) * records)
    if options.get("kafka.compression.type") == "zstd" and parse_release(release) < (2, 1):
        del options["kafka.compression.type"]
    return options


def _sends(rng: random.Random, release: str) -> Iterator[Send]:
    """Sends of three producers, each with its partitions, and of other clients."""
    next_number = [0] * _PARTITIONS
    number = parse_release(release)
    can_transact = number >= (0, 11) and rng.random() < 0.6
    has_others = rng.random() < 0.3
    left = _RECORDS
    while left > 0:
        producer = rng.randrange(3)
        partitions = [p for p in range(_PARTITIONS) if p % 3 == producer]
        chosen = rng.sample(partitions, rng.choice((1, 2)))
        parts = []
        for partition in chosen:
            count = min(left, rng.choice((1, 20, 80, 120)))
            if count:
                parts.append(Part(INPUT, partition, next_number[partition], count))
            next_number[partition] += count
            left -= count
        at_ms = round(rng.uniform(0, _LASTS_MS), 1)
        kind: SendKind = "plain"
        if can_transact and producer != 0:
            kind = rng.choice(("commit", "commit", "abort"))
        elif has_others:
            kind = rng.choice(("plain", "appended"))
        style = _style(rng, number) if kind == "appended" else ""
        yield Send(at_ms, f"producer-{producer}", kind, tuple(parts), style)


def _sends_to_new(scenario: Scenario) -> Iterator[Send]:
    """Records for partitions that are added."""
    added = [each for each in scenario.faults if each.kind == "add partitions"]
    for number, fault in enumerate(added):
        partition = _PARTITIONS + fault.arguments["count"] - 1
        part = Part(INPUT, partition, 100 * number, 30)
        # Some are there before the query knows of the partition.
        later_ms = 50 if scenario.seed % 2 else 5_000
        yield Send(fault.at_ms + later_ms, "producer-of-new", "plain", (part,))


def _style(rng: random.Random, release: tuple[int, ...]) -> str:
    magic = rng.choice((0, 1, 2) if release >= (0, 11) else (0, 1))
    # Offsets in a wrapper of magic 0 are absolute, and only the broker knows them.
    codecs = (
        ("none",) if magic == 0 else _CODECS if magic == 2 and release >= (2, 1) else _CODECS[:-1]
    )
    return f"{magic} {rng.choice(codecs)}"
