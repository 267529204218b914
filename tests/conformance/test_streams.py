"""Streams: their start, new topics and partitions, and the rows of each batch."""

from __future__ import annotations

import json
from functools import partial
from typing import Final, NamedTuple

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.conformance.sides import FORMATS, OURS
from tests.conformance.streams import LiveTopics, Streams, both
from tests.conformance.topics import START_MS, Topics, at, numbered
from tests.conformance.topics import of as of_topic
from tests.tiers import first_are_core

pytestmark = [pytest.mark.integration, pytest.mark.spark]

TOPIC: Final = "created"
FAR_MS: Final = START_MS + 10**9
of = partial(of_topic, TOPIC)


class Start(NamedTuple):
    """A start of a stream over `Topics.created`, which holds 60, 30 and no records.

    Attributes:
        options: The options for it.
        offsets: The offsets of it.
        pinned: The end of the additional first micro-batch of pykafka, if it has one: it logs a
            start that could be another one after a crash.
    """

    options: dict[str, str]
    offsets: tuple[int, int, int]
    pinned: tuple[int, int, int] | None = None


LATEST_IF_NONE: Final = {"startingOffsetsByTimestampStrategy": "latest"}

STARTS: Final = [
    Start({"startingOffsets": " Earliest "}, (0, 0, 0)),
    Start({}, (60, 30, 0)),
    Start({"startingOffsets": of(10, -2, -1)}, (10, 0, 0)),
    Start(
        LATEST_IF_NONE
        | {
            "startingTimestamp": str(at(20)),
            "startingOffsetsByTimestamp": "not even read",
            "startingOffsets": "not even read",
        },
        (20, 20, 0),
        pinned=(20, 20, 0),
    ),
    Start(
        LATEST_IF_NONE
        | {
            "startingOffsetsByTimestamp": of(at(50) - 1, FAR_MS, 0),
            "startingOffsets": "not even read",
        },
        (50, 30, 0),
        pinned=(50, 30, 0),
    ),
]


@pytest.mark.parametrize(
    "start",
    first_are_core(STARTS),
    ids=["earliest", "default", "offsets", "timestamp", "timestamps"],
)
def test_starts(streams: Streams, topics: Topics, start: Start) -> None:
    assert topics.created == TOPIC
    # The last two options have no effect.
    options = {"subscribe": TOPIC, **start.options, "endingTimestamp": "0", "maxTriggerDelay": "1"}
    theirs, ours = (streams.of(streams.reader(each, options).load()).run() for each in FORMATS)
    assert ours.rows == theirs.rows
    ends = zip(start.offsets, (60, 30, 0), strict=True)
    spans = {f"{TOPIC}-{number}": span for number, span in enumerate(ends) if span[0] < span[1]}
    assert ours.spans == theirs.spans == ([spans] if spans else [])
    assert theirs.ends == [json.loads(of(60, 30, 0))]
    pinned = [json.loads(of(*start.pinned))] if start.pinned else []
    assert ours.ends == [*pinned, *theirs.ends]


@both
def test_latest_is_the_end_of_the_log_at_the_start(
    streams: Streams, live: LiveTopics, connector: str
) -> None:
    topic = live.fill(3, 0)
    stream = streams.make(connector, subscribe=topic, startingOffsets="latest")
    with stream.running() as query:
        query.processAllAvailable()
        live.write(topic, [*numbered(2), *numbered(1, 1)])
        query.processAllAvailable()
    # Records that are written meanwhile may be read in several batches.
    assert stream.ends[0] == {topic: {"0": 3, "1": 0}}
    assert stream.ends[-1] == {topic: {"0": 5, "1": 1}}
    assert len(stream.ends) == 1 + len(stream.batches)
    assert [(row["partition"], row["offset"]) for row in stream.rows] == [(0, 3), (0, 4), (1, 0)]


@both
def test_new_topics_and_partitions_are_read_whole(
    streams: Streams, live: LiveTopics, connector: str
) -> None:
    """Also if the query started at the latest offset."""
    name = live.name()
    topic = live.fill(2, name=f"{name}one")
    stream = streams.make(connector, subscribePattern=name, startingOffsets="latest")
    with stream.running() as query:
        query.processAllAvailable()
        live.grow(topic, 2)
        live.write(topic, numbered(3, 1))
        live.write(live.make(f"{name}two"), numbered(4))
        stream.wait_for_rows(7)
    offsets = [(row["topic"], row["partition"], row["offset"]) for row in stream.rows]
    assert offsets == [
        *((f"{name}one", 1, offset) for offset in range(3)),
        *((f"{name}two", 0, offset) for offset in range(4)),
    ]


@both
def test_a_pattern_matches_nothing_yet(streams: Streams, live: LiveTopics, connector: str) -> None:
    """The connector logs nothing, pykafka the pattern without a partition; neither logs `{}`."""
    name = live.name()
    stream = streams.make(connector, subscribePattern=name, startingOffsets="latest")
    with stream.running() as query:
        query.processAllAvailable()
        live.write(live.make(name), numbered(3))
        stream.wait_for_rows(3)
    assert [row["offset"] for row in stream.rows] == [0, 1, 2]
    assert ({name: {}} in stream.ends) == (connector == OURS)
    assert stream.ends[-1] == {name: {"0": 3}}


@pytest.mark.core
def test_all_columns(streams: Streams, topics: Topics) -> None:
    options = {"subscribe": topics.headers, "includeHeaders": "true"}
    theirs, ours = (streams.make(each, **options).until(1).rows for each in FORMATS)
    assert len(ours) == 45
    assert ours == theirs


@both
def test_a_query_waits_for_transactions(streams: Streams, live: LiveTopics, connector: str) -> None:
    topic = live.fill(2)
    live.write_transaction(topic, f"{topic}a", 3, "commit")
    live.write_transaction(topic, f"{topic}b", 2, "abort")
    live.write_transaction(topic, f"{topic}c", 2, "open")
    live.write(topic, numbered(2))
    options = {"subscribe": topic, "kafka__isolation__level": "read_committed"}
    late = streams.make(connector, **options, startingOffsets="latest").run()
    assert late.ends == [{topic: {"0": 9}}]
    stream = streams.make(connector, **options)
    with stream.running() as query:
        query.processAllAvailable()
        assert stream.spans == [{f"{topic}-0": (0, 5)}]
        live.commit_open_transaction()
        stream.wait_for_rows(9)
    assert [row["offset"] for row in stream.rows] == [0, 1, 2, 3, 4, 9, 10, 11, 12]
    assert stream.ends == [{topic: {"0": 9}}, {topic: {"0": 14}}]


@both
def test_a_limit_counts_aborted_records(streams: Streams, live: LiveTopics, connector: str) -> None:
    topic = live.fill(1)
    live.write_transaction(topic, topic, 4, "abort")
    options = {"kafka__isolation__level": "read_committed", "maxOffsetsPerTrigger": "3"}
    stream = streams.make(connector, subscribe=topic, **options).run()
    assert stream.ends == [{topic: {"0": 3}}, {topic: {"0": 6}}]
    assert len(stream.rows) == 1


@both
def test_a_union_of_two_streams(streams: Streams, live: LiveTopics, connector: str) -> None:
    one, two = live.fill(3), live.fill(4)
    stream = streams.of(
        streams.load(connector, subscribe=one).union(streams.load(connector, subscribe=two))
    )
    stream.until(2, lambda: live.write(one, numbered(1)))
    assert stream.spans == [{f"{one}-0": (0, 3), f"{two}-0": (0, 4)}, {f"{one}-0": (3, 4)}]
    assert [[json.loads(line) for line in lines] for lines in stream.log] == [
        [{one: {"0": 3}}, {two: {"0": 4}}],
        [{one: {"0": 4}}, {two: {"0": 4}}],
    ]


@both
def test_a_stream_joined_with_itself(streams: Streams, live: LiveTopics, connector: str) -> None:
    topic = live.fill(4)
    df = streams.load(connector, subscribe=topic, maxOffsetsPerTrigger="2")
    joined = df.alias("one").join(df.alias("two"), F.expr("one.offset = two.offset - 1"))
    stream = streams.of(joined.select("one.*")).run()
    assert [row["offset"] for row in stream.rows] == [0, 1, 2]
    assert [[json.loads(line) for line in lines] for lines in stream.log] == [
        [{topic: {"0": 2}}] * 2,
        [{topic: {"0": 4}}] * 2,
    ]


@both
def test_a_watermark_over_the_timestamp(streams: Streams, live: LiveTopics, connector: str) -> None:
    """A window is complete when the watermark has passed it; a late record is dropped."""
    topic = live.make(live.name())
    start_ms = START_MS // 10_000 * 10_000
    seconds = [0, 1, 11, 30, 31, 32, 2, 33]
    live.write(
        topic,
        [{"value": b"", "partition": 0, "timestamp": start_ms + 1000 * each} for each in seconds],
    )

    def counts(df: DataFrame) -> DataFrame:
        windows = df.withWatermark("timestamp", "5 seconds").groupBy(
            F.window("timestamp", "10 seconds")
        )
        second = (F.unix_millis("window.start") - start_ms) / 1000
        return windows.count().select(second.cast("int").alias("second"), "count")

    df = streams.load(connector, subscribe=topic, maxOffsetsPerTrigger="2")
    batches = streams.of(counts(df)).run().batches
    assert [sorted(map(tuple, rows)) for rows in batches] == [[(0, 2), (10, 1)]]
