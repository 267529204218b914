"""How much a micro-batch reads, when it comes, and what a run with Trigger.AvailableNow holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import pytest

from kafka_spark_source.testing.waiting import Deadline
from tests.conformance.sides import FORMATS, OURS, THEIRS
from tests.conformance.streams import LiveTopics, Streams, both
from tests.conformance.topics import SOON_SECONDS, numbered

pytestmark = [pytest.mark.integration, pytest.mark.spark]


def test_offsets_are_shared_out_in_proportion(streams: Streams, live: LiveTopics) -> None:
    topic = live.fill(101, 11, 1)
    options = {"subscribe": topic, "maxOffsetsPerTrigger": "10"}
    theirs, ours = (streams.make(each, **options).run() for each in FORMATS)
    assert ours.spans == theirs.spans
    assert ours.ends == theirs.ends
    assert [end[topic] for end in ours.ends[:2]] == [
        {"0": 8, "1": 1, "2": 1},
        {"0": 17, "1": 2, "2": 1},
    ]


@both
def test_a_limit_in_available_now(streams: Streams, live: LiveTopics, connector: str) -> None:
    topic = live.fill(15, 0)
    stream = streams.make(connector, subscribe=topic, maxOffsetsPerTrigger="5").run()
    assert stream.ends == [{topic: {"0": end, "1": 0}} for end in (5, 10, 15)]
    assert len(stream.rows) == 15


@both
def test_a_limit_at_each_processing_time(
    streams: Streams, live: LiveTopics, connector: str
) -> None:
    topic = live.fill(5)
    stream = streams.make(connector, subscribe=topic, maxOffsetsPerTrigger="2")
    with stream.running(processingTime="100 milliseconds") as query:
        query.processAllAvailable()
    assert stream.ends == [{topic: {"0": end}} for end in (2, 4, 5)]


@both
def test_once_knows_no_limit(streams: Streams, live: LiveTopics, connector: str) -> None:
    topic = live.fill(5)
    stream = streams.make(connector, subscribe=topic, maxOffsetsPerTrigger="4").run(once=True)
    assert stream.ends == [{topic: {"0": 5}}]


@both
def test_a_batch_waits_for_more(streams: Streams, live: LiveTopics, connector: str) -> None:
    topic = live.fill(3)
    stream = streams.make(connector, subscribe=topic, minOffsetsPerTrigger="10")
    with stream.running() as query:
        query.processAllAvailable()
        live.write(topic, numbered(9))
        query.processAllAvailable()
        assert stream.ends == [{topic: {"0": 3}}]
        live.write(topic, numbered(1))
        query.processAllAvailable()
    assert stream.ends == [{topic: {"0": end}} for end in (3, 13)]
    # The first batch of a run does not wait.
    live.write(topic, numbered(1))
    assert stream.until(3).ends[-1] == {topic: {"0": 14}}


@both
def test_a_batch_waits_no_longer_than_told(
    streams: Streams, live: LiveTopics, connector: str
) -> None:
    topic = live.fill(3)
    limits = {"minOffsetsPerTrigger": "10", "maxTriggerDelay": "5s"}
    stream = streams.make(connector, subscribe=topic, **limits)
    with stream.running() as query:
        query.processAllAvailable()
        live.write(topic, numbered(2), linger_ms="1000")
        query.processAllAvailable()
        assert len(stream.batches) == 1
        assert Deadline(SOON_SECONDS).wait_for(lambda: len(stream.batches) == 2)
    assert stream.spans == [{f"{topic}-0": (0, 3)}, {f"{topic}-0": (3, 5)}]


@both
def test_a_lower_and_an_upper_limit(streams: Streams, live: LiveTopics, connector: str) -> None:
    topic = live.fill(3)
    limits = {"minOffsetsPerTrigger": "10", "maxOffsetsPerTrigger": "12"}
    stream = streams.make(connector, subscribe=topic, **limits)
    with stream.running() as query:
        query.processAllAvailable()
        # As one batch of the producer's: of a part of them the query might take its first ten.
        live.write(topic, numbered(30), linger_ms="1000")
        query.processAllAvailable()
    assert stream.ends == [{topic: {"0": end}} for end in (3, 15, 27)]


def test_available_now_leaves_nothing_in_pykafka_only(streams: Streams, live: LiveTopics) -> None:
    """On purpose: the connector waits for more than there is, and ends."""
    topic = live.fill(30)
    limits = {"minOffsetsPerTrigger": "10", "maxOffsetsPerTrigger": "12"}
    theirs, ours = (streams.make(each, subscribe=topic, **limits).run() for each in FORMATS)
    assert theirs.ends == [{topic: {"0": end}} for end in (12, 24)]
    assert ours.ends == [{topic: {"0": end}} for end in (12, 24, 30)]


@both
def test_available_now_reads_nothing_that_is_new(
    streams: Streams, live: LiveTopics, connector: str
) -> None:
    name = live.name()
    topic = live.fill(4, name=f"{name}one")

    def change() -> None:
        live.write(topic, numbered(3))
        live.grow(topic, 2)
        live.write(topic, numbered(2, 1))
        live.fill(1, name=f"{name}two")

    stream = streams.make(connector, subscribePattern=name, maxOffsetsPerTrigger="2").run(change)
    assert stream.ends == [{topic: {"0": end}} for end in (2, 4)]
    # The next run does.
    assert len(stream.run().rows) == 10


class Lost(NamedTuple):
    """What goes lost in a run with Trigger.AvailableNow, and what both say then."""

    what: str
    fail_on_data_loss: str
    lose: Callable[[LiveTopics, str], object]
    theirs: str
    ours: str


HAVE_BEEN_LOST: Final = (
    "Some of partitions in Kafka topic(s) have been lost during running query with "
    "Trigger.AvailableNow"
)
ENDS_EARLIER: Final = (
    "Some of partitions in Kafka topic(s) report available offset which is less than end offset "
    "during running query with Trigger.AvailableNow"
)

LOST: Final = [
    Lost(
        "a topic",
        "false",
        lambda topics, name: topics.delete(f"{name}one"),
        HAVE_BEEN_LOST,
        HAVE_BEEN_LOST,
    ),
    Lost(
        "a partition",
        "true",
        lambda topics, name: topics.recreate(f"{name}two", 20),
        HAVE_BEEN_LOST,
        HAVE_BEEN_LOST,
    ),
    Lost(
        "records",
        "false",
        lambda topics, name: topics.recreate(f"{name}one", 3),
        ENDS_EARLIER,
        HAVE_BEEN_LOST,
    ),
]


@both
@pytest.mark.parametrize("lost", LOST, ids=lambda lost: lost.what)
def test_available_now_reads_all_there_was_or_fails(
    streams: Streams, live: LiveTopics, connector: str, lost: Lost
) -> None:
    """Whatever failOnDataLoss says."""
    name = live.name()
    live.fill(10, name=f"{name}one")
    live.fill(10, 10, name=f"{name}two")
    stream = streams.make(
        connector,
        subscribePattern=name,
        maxOffsetsPerTrigger="15",
        failOnDataLoss=lost.fail_on_data_loss,
        fetchOffset__retryIntervalMs="10",
        kafka__topic__metadata__propagation__max__ms="1000",
    )
    text = stream.error(partial(lost.lose, live, name))
    assert {THEIRS: lost.theirs, OURS: lost.ours}[connector] in text
    assert len(stream.batches) == 1


@both
def test_only_pykafka_sees_that_a_topic_is_another_one(
    streams: Streams, live: LiveTopics, connector: str
) -> None:
    """Where it was re-created with no fewer records: by the topic's id."""
    topic = live.fill(4)
    stream = streams.make(connector, subscribe=topic, maxOffsetsPerTrigger="2")
    recreate = partial(live.recreate, topic, 9)
    if connector == OURS:
        error = stream.error(recreate)
        # The driver looks at ids once a second; before, a task finds out.
        assert HAVE_BEEN_LOST in error or "KAFKA_DATA_LOSS.PARTITIONS_DELETED" in error
        assert len(stream.rows) == 2
    else:
        assert stream.run(recreate).ends == [{topic: {"0": 2}}, {topic: {"0": 4}}]
