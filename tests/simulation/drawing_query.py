"""Draws which topics a stream reads, where it starts, and what else its records and options have.

Applied to a scenario that is drawn; with a random number generator of its own, so that the rest of
a seed stays what it was.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Final

from kafka_protocol.versions.releases import parse_release
from tests.simulation.scenario import GROUP, INPUT, MORE, Fault, Part, Scenario, Send, Topic
from tests.simulation.scheduler import START_MS
from tests.truth.drawing import Table, draw_options

_LATE_MS: Final = (2_000.0, 5_000.0, 8_000.0)
_MORE_PARTITIONS: Final = 2
_STARTS: Final = ("latest-30", "-2s", "group", "specific", "relative", "timestamp", "timestamps")

# Options of the client, each drawn with its probability: for the source, and for what writes.
_CLIENT: Final[Table] = (
    (0.1, "kafka.connections.max.idle.ms", ("2000",)),
    (0.05, "kafka.client.id", ("simulated",)),
    (0.05, "kafka.retry.backoff.ms", ("10", "400")),
    (0.05, "kafka.topic.metadata.propagation.max.ms", ("1000", "5000")),
    (0.05, "kafka.broker.version.fallback", ("0.10.0",)),
    (0.05, "kafka.socket.connection.setup.timeout.ms", ("1500",)),
)
_READ: Final[Table] = (
    (0.1, "kafkaConsumer.pollTimeoutMs", ("3000",)),
    (0.1, "kafka.fetch.min.bytes", ("2000",)),
    (0.1, "kafka.check.crcs", ("false",)),
    (0.05, "groupIdPrefix", ("ignored",)),
)
_WRITE: Final[Table] = (
    (0.1, "kafka.acks", ("all", "-1")),
    (0.1, "kafka.compression.gzip.level", ("1", "9")),
    (0.1, "kafka.compression.lz4.level", ("9",)),
    (0.1, "kafka.delivery.timeout.ms", ("20000",)),
    (0.05, "kafka.retries", ("1000",)),
)
_IDEMPOTENCE: Final = "kafka.enable.idempotence"
MINIMUMS: Final = {"minOffsetsPerTrigger", "minOffsetsPerTopic"}
"""Options with which records wait."""


def _with_options(rng: random.Random, scenario: Scenario) -> Scenario:
    """The scenario with more options, and perhaps with producers that are not idempotent."""
    source = scenario.source | draw_options(rng, _CLIENT, _READ)
    write, producer = (
        each | draw_options(rng, _CLIENT, _WRITE) for each in (scenario.write, scenario.producer)
    )
    transacts = any(send.kind in ("commit", "abort") for send in scenario.sends)
    if not transacts and scenario.sink != "exactly once" and rng.random() < 0.1:
        producer[_IDEMPOTENCE] = "false"
    if scenario.sink == "exactly once" and rng.random() < 0.015:  # takes ten times as long
        # Many decisions, so that the log gets a snapshot.
        source = {k: v for k, v in source.items() if k not in MINIMUMS}
        source["maxOffsetsPerTrigger"] = "40"
    for options in (write, producer):  # delivery.timeout.ms includes an attempt
        if "kafka.delivery.timeout.ms" in options:
            options["kafka.request.timeout.ms"] = "10000"
    return replace(scenario, source=source, write=write, producer=producer)


def with_query(rng: random.Random, scenario: Scenario) -> Scenario:
    """The scenario with its topics, its start, headers and a consumer group."""
    if parse_release(scenario.release) >= (0, 11) and rng.random() < 0.4:
        scenario = replace(scenario, has_headers=True)
    source = dict(scenario.source)
    if rng.random() < 0.4:
        source["includeHeaders"] = "true"
    if rng.random() < 0.2:
        source |= {"commitOffsetsToGroup": "true", "kafka.group.id": GROUP}
    if rng.random() < 0.2:
        source["partition.metadata.cache.ttl.ms"] = rng.choice(("1000", "10000"))
    if rng.random() < 0.2:
        source["fetchOffset.numRetries"] = "3"
    scenario = _with_options(rng, replace(scenario, source=source))
    source = scenario.source
    scenario = _with_brokers(rng, replace(scenario, source=source))
    scenario = _with_topics(rng, scenario)
    if (
        scenario.sink == "files"
        and parse_release(scenario.release) >= (2, 8)
        and rng.random() < 0.08
    ):
        return _with_another_topic(rng, scenario)
    can_start_later = not scenario.loses_records and "assign" not in scenario.source
    if can_start_later and rng.random() < 0.35:
        return _starting_later(rng, scenario)
    return scenario


def _with_brokers(rng: random.Random, scenario: Scenario) -> Scenario:
    """Racks, and the configuration of the input."""
    topic, *others = scenario.topics
    config = dict(topic.config)
    if topic.replication == 3 and rng.random() < 0.2:
        config["min.insync.replicas"] = "2"
    if rng.random() < 0.1:
        config["max.message.bytes"] = "6000"  # less than kafka.batch.size: batches are split
    source = dict(scenario.source)
    has_racks = parse_release(scenario.release) >= (2, 4) and rng.random() < 0.3
    if has_racks:
        source["kafka.client.rack"] = "rack-2"
    return replace(
        scenario,
        topics=(replace(topic, config=config), *others),
        source=source,
        has_racks=has_racks,
    )


def _with_topics(rng: random.Random, scenario: Scenario) -> Scenario:
    share = rng.random()
    source = dict(scenario.source)
    if share < 0.1:
        source["assign"] = json.dumps({INPUT: sorted(rng.sample(range(6), 4))})
    elif share < 0.2:
        source["subscribePattern"] = f"^{INPUT}$"
    elif share < 0.4 and scenario.sink == "files":
        source |= rng.choice(({"subscribe": f"{INPUT},{MORE}"}, {"subscribePattern": "^in"}))
        topics = (*scenario.topics, Topic(MORE, _MORE_PARTITIONS, 3))
        sends = sorted((*scenario.sends, *_sends(rng)))
        return replace(scenario, source=source, topics=topics, sends=tuple(sends))
    return replace(scenario, source=source)


def _sends(rng: random.Random) -> list[Send]:
    """Records of the other topic."""
    return [
        Send(
            round(rng.uniform(0, 12_000), 1),
            "producer-of-more",
            "plain",
            (Part(MORE, number % _MORE_PARTITIONS, 100 * number, rng.choice((1, 40))),),
        )
        for number in range(4)
    ]


def _with_another_topic(rng: random.Random, scenario: Scenario) -> Scenario:
    """The scenario with a topic that takes the place of the input, and with little else.

    The query has not come far, so that the topic soon has the offsets where it goes on.
    """
    at_ms = round(rng.uniform(3_500, 7_000), 1)
    fault = Fault(at_ms, "recreate topic", 0.0, {"partitions": scenario.topics[0].partitions})
    others = {"failOnDataLoss", "maxBytesPerTrigger", *MINIMUMS}
    source = {k: v for k, v in scenario.source.items() if k not in others}
    source |= {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "60"}
    return replace(scenario, trigger="default", source=source, faults=(fault,), pause_ms=3_000.0)


def _starting_later(rng: random.Random, scenario: Scenario) -> Scenario:
    kind = rng.choice(_STARTS)
    partitions = {topic.name: range(topic.partitions) for topic in scenario.topics}
    begin_ms = rng.choice(_LATE_MS)
    moment = int(START_MS) + rng.randint(0, int(begin_ms))
    source = {k: v for k, v in scenario.source.items() if k != "startingOffsets"}

    def everywhere(values: tuple[object, ...]) -> str:
        return json.dumps(
            {
                topic: {str(number): rng.choice(values) for number in numbers}
                for topic, numbers in partitions.items()
            }
        )

    match kind:
        case "group":
            source |= {"startingOffsets": "group", "kafka.group.id": GROUP}
        case "specific":
            source["startingOffsets"] = everywhere((0, -2, -1))
        case "relative":
            source["startingOffsets"] = everywhere(("latest-5", "-1s", 0))
        case "timestamp":
            source["startingTimestamp"] = str(moment)
        case "timestamps":
            source["startingOffsetsByTimestamp"] = everywhere((moment, moment - 500))
        case word:
            source["startingOffsets"] = word
    source["startingOffsetsByTimestampStrategy"] = "latest"
    # Such a start is kept by an empty first micro-batch, which must not be the only one.
    interface, trigger = scenario.interface, scenario.trigger
    if kind in ("latest-30", "-2s", "group", "relative"):
        interface, trigger = "4.2", "default" if trigger == "once" else trigger
    # A map names all partitions, and so none can be added before the query runs.
    faults = scenario.faults
    if kind in ("specific", "relative", "timestamps"):
        faults = tuple(each for each in faults if each.kind != "add partitions")
    sends = tuple(each for each in scenario.sends if each.producer != "producer-of-new")
    return replace(
        scenario,
        source=source,
        begin_ms=begin_ms,
        interface=interface,
        trigger=trigger,
        faults=faults,
        sends=sends if faults != scenario.faults else scenario.sends,
    )
