"""failOnDataLoss in a stream: which events fail, with which condition, and how it continues.

Each event happens between two micro-batches. Spark's connector logs a micro-batch before it detects
the loss, so its query fails again at each start; pykafka detects it first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import pytest

from tests.conformance.sides import OURS, THEIRS
from tests.conformance.streams import LiveTopics, Streams, both
from tests.conformance.topics import numbered, of
from tests.tiers import first_are_core

pytestmark = [pytest.mark.integration, pytest.mark.spark]

# With this trigger a query runs until it fails.
GOES_ON: Final = {"processingTime": "0 seconds"}

QUICK: Final = {
    "fetchOffset.retryIntervalMs": "10",
    "kafkaConsumer.pollTimeoutMs": "3000",
    "kafka.topic.metadata.propagation.max.ms": "1000",
}

DELETED: Final = "KAFKA_DATA_LOSS.PARTITIONS_DELETED"
CHANGED: Final = "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED"
UNREADABLE: Final = "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"
NOT_FROM_ZERO: Final = "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO"
# Does not depend on failOnDataLoss.
NO_SUCH_TOPIC: Final = "This server does not host this topic-partition"


class Event(NamedTuple):
    """A change of topics with a common prefix.

    `happen` causes it; before, `one` has 5 and 5 records, and `two` has 2. The condition and the
    part of both error texts are for failOnDataLoss=true. A task or the driver detects it.
    """

    name: str
    happen: Callable[[LiveTopics, str], object]
    condition: str
    text: str
    is_found_in_task: bool


def expire(topics: LiveTopics, name: str) -> None:
    topics.write(f"{name}one", numbered(10))
    topics.delete_records(f"{name}one", 0, 8)


def expire_all(topics: LiveTopics, name: str) -> None:
    topics.write(f"{name}one", numbered(10, 1))
    topics.delete_records(f"{name}one", 1, 15)
    topics.write(f"{name}two", numbered(1))


def add_an_old_one(topics: LiveTopics, name: str) -> None:
    topics.fill(9, name=f"{name}three")
    topics.delete_records(f"{name}three", 0, 4)


def delete(topics: LiveTopics, name: str) -> None:
    topics.delete(f"{name}one")
    topics.write(f"{name}two", numbered(1))


EVENTS: Final = [
    Event(
        "records expire",
        expire,
        UNREADABLE,
        "Could not read records in offset [5, 15) for topic partition {name}one-0",
        is_found_in_task=True,
    ),
    Event(
        "all records expire",
        expire_all,
        UNREADABLE,
        "Could not read records in offset [5, 15) for topic partition {name}one-1",
        is_found_in_task=True,
    ),
    Event(
        "a new topic starts above offset 0",
        add_an_old_one,
        NOT_FROM_ZERO,
        "{name}three-0 starts from 4",
        is_found_in_task=False,
    ),
    Event("a topic is deleted", delete, DELETED, "have been deleted", is_found_in_task=False),
]


def fill(live: LiveTopics) -> str:
    """Topics for an event; returns the prefix of their names."""
    name = live.name()
    live.fill(5, 5, name=f"{name}one")
    live.fill(2, name=f"{name}two")
    return name


@both
@pytest.mark.parametrize("event", first_are_core(EVENTS), ids=lambda event: event.name)
def test_it_fails(streams: Streams, live: LiveTopics, connector: str, event: Event) -> None:
    name = fill(live)
    stream = streams.make(connector, subscribePattern=name, **QUICK)
    text = stream.error(partial(event.happen, live, name), **GOES_ON)
    assert event.condition in text
    assert event.text.format(name=name) in text
    assert len(stream.rows) == 12
    is_logged = event.is_found_in_task or connector == THEIRS
    assert len(stream.log) == (2 if is_logged else 1)


@both
def test_it_goes_on(streams: Streams, live: LiveTopics, connector: str) -> None:
    """One query continues after all of these events."""
    name = fill(live)
    stream = streams.make(connector, subscribePattern=name, failOnDataLoss="false", **QUICK)
    stream.until(5, *(partial(event.happen, live, name) for event in EVENTS))
    assert [sorted(spans.items()) for spans in stream.spans] == [
        [(f"{name}{partition}", span) for partition, span in spans]
        for spans in (
            [("one-0", (0, 5)), ("one-1", (0, 5)), ("two-0", (0, 2))],
            [("one-0", (8, 15))],
            [("two-0", (2, 3))],
            [("three-0", (4, 9))],
            [("two-0", (3, 4))],
        )
    ]


class Successor(NamedTuple):
    """A topic of 5 records is deleted while its query runs, and re-created with others.

    Spark's connector compares offsets, and misses the change or misreads it. pykafka compares topic
    ids: it fails, or reads the new topic from its beginning.

    The outcome is the error condition, or the offsets that are read, or None for no rows.
    """

    connector: str
    fail: str
    records: int
    outcome: str | tuple[int, int] | None


SUCCESSORS: Final = [
    Successor(THEIRS, "true", 2, CHANGED),
    Successor(THEIRS, "true", 5, None),
    Successor(THEIRS, "true", 9, (5, 9)),
    Successor(THEIRS, "false", 2, None),
    Successor(OURS, "true", 5, DELETED),
    Successor(OURS, "false", 9, (0, 9)),
]


@pytest.mark.parametrize(
    "successor",
    first_are_core(SUCCESSORS),
    ids=lambda each: f"{each.connector} {each.fail} {each.records}",
)
def test_a_topic_is_recreated(streams: Streams, live: LiveTopics, successor: Successor) -> None:
    topic = live.fill(5)
    stream = streams.make(
        successor.connector, subscribe=topic, failOnDataLoss=successor.fail, **QUICK
    )
    event = partial(live.recreate, topic, successor.records)
    if isinstance(successor.outcome, str):
        text = stream.error(event, **GOES_ON)
        assert successor.outcome in text
        assert f"{topic}-0" in text
        return
    expected = [(0, 5)] if successor.outcome is None else [(0, 5), successor.outcome]
    stream.until(len(expected), event)
    assert stream.spans == [{f"{topic}-0": span} for span in expected]


@both
def test_a_topic_was_recreated_before_the_query_continues(
    streams: Streams, live: LiveTopics, connector: str
) -> None:
    """A checkpoint holds no topic ids, so both connectors compare offsets."""
    topic = live.fill(5)
    stream = streams.make(connector, subscribe=topic, failOnDataLoss="false", **QUICK).run()
    live.recreate(topic, 2)
    with stream.running() as query:
        query.processAllAvailable()
        assert stream.ends == [{topic: {"0": 5}}, {topic: {"0": 2}}]
        live.write(topic, numbered(1))
        query.processAllAvailable()
    assert stream.spans[1:] == [{f"{topic}-0": (2, 3)}]


@both
def test_a_start_beyond_the_end(streams: Streams, live: LiveTopics, connector: str) -> None:
    topic = live.fill(5, 3)
    options = {"subscribe": topic, "startingOffsets": of(topic, 7, 1), **QUICK}
    text = streams.make(connector, **options).error()
    assert CHANGED in text
    assert f"Partition {topic}-0 offset was changed from 7 to 5." in text
    stream = streams.make(connector, **options, failOnDataLoss="false").run()
    assert stream.spans == [{f"{topic}-1": (1, 3)}]
    assert stream.ends == [{topic: {"0": 5, "1": 3}}]


class Deletion(NamedTuple):
    """A topic that the query names is deleted.

    Spark's connector always fails; pykafka fails only if failOnDataLoss is true.

    The error is a part of the text, or None if the query continues.
    """

    connector: str
    fail: str
    strategy: str
    error: str | None


DELETIONS: Final = [
    Deletion(THEIRS, "false", "subscribe", NO_SUCH_TOPIC),
    Deletion(THEIRS, "false", "assign", NO_SUCH_TOPIC),
    Deletion(OURS, "true", "subscribe", DELETED),
    Deletion(OURS, "false", "subscribe", None),
]


@pytest.mark.parametrize(
    "deletion", DELETIONS, ids=lambda each: f"{each.connector} {each.fail} {each.strategy}"
)
def test_a_named_topic_is_deleted(streams: Streams, live: LiveTopics, deletion: Deletion) -> None:
    one, two = live.fill(3), live.fill(2)
    named = {"assign": json.dumps({one: [0], two: [0]})}
    if deletion.strategy == "subscribe":
        named = {"subscribe": f"{one},{two}"}
    stream = streams.make(deletion.connector, **named, failOnDataLoss=deletion.fail, **QUICK)

    def event() -> None:
        live.delete(one)
        live.write(two, numbered(1))

    if deletion.error:
        assert deletion.error in stream.error(event, **GOES_ON)
    else:
        assert stream.until(2, event).spans[1:] == [{f"{two}-0": (2, 3)}]


@both
def test_no_topic_of_a_pattern_is_left(streams: Streams, live: LiveTopics, connector: str) -> None:
    """The connector waits for a matching topic."""
    topic = live.fill(3)
    options = {"subscribePattern": topic, **QUICK}
    stream = streams.make(connector, **options, failOnDataLoss="false")
    stream.until(1, partial(live.delete, topic))
    assert stream.ends == [{topic: {"0": 3}}]


def test_only_pykafka_fails_if_nothing_is_left(streams: Streams, live: LiveTopics) -> None:
    topic = live.fill(3)
    theirs = streams.make(THEIRS, subscribePattern=topic, **QUICK)
    theirs.until(1, partial(live.delete, topic))
    assert theirs.ends == [{topic: {"0": 3}}]
    live.fill(3, name=topic)
    ours = streams.make(OURS, subscribePattern=topic, **QUICK)
    assert DELETED in ours.error(partial(live.delete, topic), **GOES_ON)
