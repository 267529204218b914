"""failOnDataLoss in a stream, event by event: what fails, with which condition, and what goes on.

Each happens between two micro-batches. Spark's connector logs a micro-batch before it finds what is
lost, so its query fails again at each start; pykafka looks first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import pytest

from tests.conformance.sides import OURS, THEIRS
from tests.conformance.streams import LiveTopics, Streams, both
from tests.conformance.topics import numbered

pytestmark = [pytest.mark.integration, pytest.mark.spark]

# With a trigger of its own a query waits for what comes, or for its failure.
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
# Not of failOnDataLoss, which cannot help then.
NO_SUCH_TOPIC: Final = "This server does not host this topic-partition"


def of(topic: str, *positions: int) -> str:
    return json.dumps({topic: {str(number): each for number, each in enumerate(positions)}})


class Event(NamedTuple):
    """What happens to topics of one prefix.

    Attributes:
        what: Its name.
        happen: Makes it; `one` had 5 and 5 records before, `two` had 2.
        condition: Of the error, if failOnDataLoss is true.
        text: In the error of either connector.
        where: Whether it is found in a `task`, or `before`.
    """

    what: str
    happen: Callable[[LiveTopics, str], object]
    condition: str
    text: str
    where: str


def age_out(topics: LiveTopics, name: str) -> None:
    topics.write(f"{name}one", numbered(10))
    topics.delete_records(f"{name}one", 0, 8)


def age_out_altogether(topics: LiveTopics, name: str) -> None:
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
        "records age out",
        age_out,
        UNREADABLE,
        "Could not read records in offset [5, 15) for topic partition {name}one-0",
        "task",
    ),
    Event(
        "all records age out",
        age_out_altogether,
        UNREADABLE,
        "Could not read records in offset [5, 15) for topic partition {name}one-1",
        "task",
    ),
    Event(
        "a new topic does not start from 0",
        add_an_old_one,
        NOT_FROM_ZERO,
        "{name}three-0 starts from 4",
        "before",
    ),
    Event("a topic is deleted", delete, DELETED, "have been deleted", "before"),
]


def fill(live: LiveTopics) -> str:
    """Topics for an event; returns the prefix of their names."""
    name = live.name()
    live.fill(5, 5, name=f"{name}one")
    live.fill(2, name=f"{name}two")
    return name


@both
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.what)
def test_it_fails(streams: Streams, live: LiveTopics, connector: str, event: Event) -> None:
    name = fill(live)
    stream = streams.make(connector, subscribePattern=name, **QUICK)
    text = stream.error(partial(event.happen, live, name), **GOES_ON)
    assert event.condition in text
    assert event.text.format(name=name) in text
    assert len(stream.rows) == 12
    is_logged = event.where == "task" or connector == THEIRS
    assert len(stream.log) == (2 if is_logged else 1)


@both
def test_it_goes_on(streams: Streams, live: LiveTopics, connector: str) -> None:
    """One query outlives all of it."""
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

    Spark's connector goes by offsets, and sees nothing or the wrong thing. pykafka goes by the
    topic's id: it fails, or begins the new one at its beginning.

    Attributes:
        connector: Who reads it.
        fail: The value of failOnDataLoss.
        records: How many the new one has.
        then: The condition of the error, or the offsets that are read, or None for nothing.
    """

    connector: str
    fail: str
    records: int
    then: str | tuple[int, int] | None


SUCCESSORS: Final = [
    Successor(THEIRS, "true", 2, CHANGED),
    Successor(THEIRS, "true", 5, None),
    Successor(THEIRS, "true", 9, (5, 9)),
    Successor(THEIRS, "false", 2, None),
    Successor(OURS, "true", 5, DELETED),
    Successor(OURS, "false", 9, (0, 9)),
]


@pytest.mark.parametrize("successor", SUCCESSORS)
def test_a_topic_is_re_created(streams: Streams, live: LiveTopics, successor: Successor) -> None:
    topic = live.fill(5)
    stream = streams.make(
        successor.connector, subscribe=topic, failOnDataLoss=successor.fail, **QUICK
    )
    event = partial(live.recreate, topic, successor.records)
    if isinstance(successor.then, str):
        text = stream.error(event, **GOES_ON)
        assert successor.then in text
        assert f"{topic}-0" in text
        return
    expected = [(0, 5)] if successor.then is None else [(0, 5), successor.then]
    stream.until(len(expected), event)
    assert stream.spans == [{f"{topic}-0": span} for span in expected]


@both
def test_a_topic_was_re_created_before_the_query_goes_on(
    streams: Streams, live: LiveTopics, connector: str
) -> None:
    """A checkpoint holds no ids, so then both go by offsets."""
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
    """A topic is deleted that the query names.

    Spark's connector fails whatever failOnDataLoss says, and pykafka does what it says.

    Attributes:
        connector: Who reads it.
        fail: The value of failOnDataLoss.
        assigns: Whether it is named by `assign`, and not by `subscribe`.
        error: What stands in the error; None where the query goes on.
    """

    connector: str
    fail: str
    assigns: bool
    error: str | None


DELETIONS: Final = [
    Deletion(THEIRS, "false", False, NO_SUCH_TOPIC),
    Deletion(THEIRS, "false", True, NO_SUCH_TOPIC),
    Deletion(OURS, "true", False, DELETED),
    Deletion(OURS, "false", False, None),
]


@pytest.mark.parametrize("deletion", DELETIONS)
def test_a_named_topic_is_deleted(streams: Streams, live: LiveTopics, deletion: Deletion) -> None:
    one, two = live.fill(3), live.fill(2)
    named = {"assign": json.dumps({one: [0], two: [0]})}
    if not deletion.assigns:
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
def test_nothing_is_left_of_a_pattern(streams: Streams, live: LiveTopics, connector: str) -> None:
    """The connector waits for a topic that matches, whatever failOnDataLoss says."""
    topic = live.fill(3)
    options = {"subscribePattern": topic, **QUICK}
    stream = streams.make(connector, **options, failOnDataLoss="false")
    stream.until(1, partial(live.delete, topic))
    assert stream.ends == [{topic: {"0": 3}}]


def test_nothing_is_left_and_only_pykafka_says_so(streams: Streams, live: LiveTopics) -> None:
    topic = live.fill(3)
    theirs = streams.make(THEIRS, subscribePattern=topic, **QUICK)
    theirs.until(1, partial(live.delete, topic))
    assert theirs.ends == [{topic: {"0": 3}}]
    live.fill(3, name=topic)
    ours = streams.make(OURS, subscribePattern=topic, **QUICK)
    assert DELETED in ours.error(partial(live.delete, topic), **GOES_ON)
