"""Size and time of micro-batches, and the contents of a run with Trigger.AvailableNow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import pytest

from kafka_spark_source.testing.processes.waiting import Deadline
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


@pytest.mark.core
@both
def test_a_limit_in_available_now(streams: Streams, live: LiveTopics, connector: str) -> None:
    topic = live.fill(15, 0)
    stream = streams.make(connector, subscribe=topic, maxOffsetsPerTrigger="5").run()
    assert stream.ends == [{topic: {"0": end, "1": 0}} for end in (5, 10, 15)]
    assert len(stream.rows) == 15


@both
def test_a_limit_with_processing_time(streams: Streams, live: LiveTopics, connector: str) -> None:
    topic = live.fill(5)
    stream = streams.make(connector, subscribe=topic, maxOffsetsPerTrigger="2")
    with stream.running(processingTime="100 milliseconds") as query:
        query.processAllAvailable()
    assert stream.ends == [{topic: {"0": end}} for end in (2, 4, 5)]


@both
def test_once_has_no_limit(streams: Streams, live: LiveTopics, connector: str) -> None:
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
def test_a_batch_waits_no_longer_than_the_limit(
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
        # In one record batch: of a part of the records the query might read the first ten.
        live.write(topic, numbered(30), linger_ms="1000")
        query.processAllAvailable()
    assert stream.ends == [{topic: {"0": end}} for end in (3, 15, 27)]


def test_available_now_leaves_nothing_in_pykafka_only(streams: Streams, live: LiveTopics) -> None:
    """Intended: the connector waits for more records, and ends."""
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
    # The next run reads the new records.
    assert len(stream.run().rows) == 10


class Lost(NamedTuple):
    """A loss in a run with Trigger.AvailableNow, and the two error texts."""

    name: str
    fail_on_data_loss: str
    lose: Callable[[LiveTopics, str], object]
    theirs: str
    ours: str


GONE: Final = (
    "Some of partitions in Kafka topic(s) have been lost during running query with "
    "Trigger.AvailableNow"
)
LESS: Final = (
    "Some of partitions in Kafka topic(s) report available offset which is less than end offset "
    "during running query with Trigger.AvailableNow"
)

LOST: Final = [
    Lost("a topic", "false", lambda live, name: live.delete(f"{name}one"), GONE, GONE),
    Lost("a partition", "true", lambda live, name: live.recreate(f"{name}two", 20), GONE, GONE),
    Lost("records", "false", lambda live, name: live.recreate(f"{name}one", 3), LESS, GONE),
]


@both
@pytest.mark.parametrize("lost", LOST, ids=lambda lost: lost.name)
def test_available_now_reads_all_there_was_or_fails(
    streams: Streams, live: LiveTopics, connector: str, lost: Lost
) -> None:
    """With any value of failOnDataLoss."""
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
def test_only_pykafka_detects_a_recreated_topic(
    streams: Streams, live: LiveTopics, connector: str
) -> None:
    """With at least as many records as before: by the topic id."""
    topic = live.fill(4)
    stream = streams.make(connector, subscribe=topic, maxOffsetsPerTrigger="2")
    recreate = partial(live.recreate, topic, 9)
    if connector == OURS:
        error = stream.error(recreate)
        # The driver compares ids once a second; before, a task detects it.
        assert GONE in error or "KAFKA_DATA_LOSS.PARTITIONS_DELETED" in error
        assert len(stream.rows) == 2
    else:
        assert stream.run(recreate).ends == [{topic: {"0": 2}}, {topic: {"0": 4}}]
