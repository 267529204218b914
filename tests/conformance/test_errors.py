"""Both connectors refuse the same batch reads, with the same condition or text.

The tables list all known differences with their reasons. A text may be anywhere in the error: Spark
wraps errors, and pykafka adds a cure.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Final, NamedTuple

import pytest
from pyspark.errors import AnalysisException

from tests.conformance.sides import FORMATS, OURS, THEIRS, Sides, in_order
from tests.conformance.topics import START_MS, Topics
from tests.conformance.topics import of as of_topic
from tests.tiers import first_are_core

pytestmark = [pytest.mark.integration, pytest.mark.spark]

TOPIC: Final = "created"
FAR_MS: Final = str(START_MS + 10**9)


of = partial(of_topic, TOPIC)


Options = dict[str, "str | None"]
READ: Final[Options] = {"subscribe": TOPIC}

OFFSETS: Final = 'Expected e.g. {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}, got '
PARTITIONS: Final = 'Expected e.g. {"topicA":[0,1],"topicB":[0,1]}, got '
ONE_LONG: Final = "Expected a single long value, got soon"
NO_MATCH: Final = "No offset matched from request of topic-partition created-"
SAME_PARTITIONS: Final = "should have the same topic-partitions"
NOT_SUPPORTED: Final = "Kafka option '{}' is not supported"

# Options, and a part of both error texts. These are refused at load(), also in a stream.
REFUSED_AT_LOAD: Final[list[tuple[Options, str]]] = [
    ({}, "One of the following options must be specified for Kafka source: subscribe"),
    (READ | {"assign": "{}"}, "Only one of the following options can be specified for Kafka"),
    ({"subscribe": " , "}, "No topics to subscribe to as specified value for option 'subscribe'"),
    ({"assign": TOPIC}, "No topicpartitions to assign as specified value for option 'assign'"),
    (
        READ | {"kafka.bootstrap.servers": None},
        "Option 'kafka.bootstrap.servers' must be specified for configuring Kafka consumer",
    ),
    (READ | {"minPartitions": "0"}, "minPartitions must be positive"),
    *(
        (READ | {f"kafka.{name}": "x"}, NOT_SUPPORTED.format(name))
        for name in (
            "auto.offset.reset",
            "key.deserializer",
            "value.deserializer",
            "enable.auto.commit",
            "interceptor.classes",
        )
    ),
]
SAME: Final[list[tuple[Options, str]]] = [
    *REFUSED_AT_LOAD,
    ({"subscribePattern": " "}, "Pattern to subscribe is empty as specified value for option"),
    ({"assign": '{"t":0}'}, PARTITIONS + '{"t":0}'),
    ({"assign": '{"t":["x"]}'}, PARTITIONS + '{"t":["x"]}'),
    (READ | {"startingOffsets": "latest"}, "starting offset can't be latest for batch queries"),
    (
        READ | {"startingOffsets": of(0, -1, 0)},
        "startingOffsets for created-1 can't be latest for batch queries on Kafka",
    ),
    ({"startingOffsets": "latest"}, "starting offset can't be latest for batch queries"),
    (READ | {"endingOffsets": "earliest"}, "ending offset can't be earliest for batch queries"),
    (
        READ | {"endingOffsets": of(0, -2, 0)},
        "ending offset for created-1 can't be earliest for batch queries on Kafka",
    ),
    (READ | {"startingOffsets": "{"}, OFFSETS + "{"),
    (READ | {"startingOffsets": "soon"}, OFFSETS + "soon"),
    (READ | {"endingOffsets": "{"}, OFFSETS + "{"),
    (READ | {"startingOffsets": of(0, 0)}, "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED"),
    (READ | {"startingOffsets": of(0, 0, 0, 0)}, "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED"),
    (READ | {"endingOffsets": of(1, 1)}, "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED"),
    (READ | {"startingOffsets": of(0, 0, 0), "endingOffsets": of(1, 1)}, SAME_PARTITIONS),
    (
        READ | {"startingOffsets": of(5, 0, 0), "endingOffsets": of(4, 1, 0)},
        "The specified start offset 5 is greater than the end offset 4 for topic created "
        "partition 0",
    ),
    (
        READ | {"startingOffsetsByTimestamp": of(5, 0, 0), "endingOffsetsByTimestamp": of(4, 1, 0)},
        "The specified start timestamp 5 is greater than the end timestamp 4 for topic created",
    ),
    (
        READ | {"startingOffsetsByTimestamp": of(5, 0, 0), "endingOffsetsByTimestamp": of(6, 1)},
        SAME_PARTITIONS,
    ),
    (
        READ | {"startingOffsets": of(10, 0, 0), "endingTimestamp": str(START_MS)},
        "RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET",
    ),
    (
        READ | {"startingOffsets": of(65, 0, 0)},
        "The resolved start offset 65 is greater than the resolved end offset 60 for topic created",
    ),
    (READ | {"startingTimestamp": "soon"}, ONE_LONG),
    (READ | {"endingTimestamp": "soon"}, ONE_LONG),
    (
        READ | {"startingOffsetsByTimestamp": of(0)},
        "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED",
    ),
    (READ | {"endingOffsetsByTimestamp": of(0)}, "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED"),
    (READ | {"startingTimestamp": FAR_MS}, NO_MATCH),
    (READ | {"startingOffsetsByTimestamp": of(int(FAR_MS), 0, 0)}, NO_MATCH),
    (READ | {"minPartitions": "-1"}, "minPartitions must be positive"),
]


@pytest.mark.parametrize(
    ("options", "text"), first_are_core(SAME, 2), ids=[text[:40] for _, text in SAME]
)
def test_the_same_error(sides: Sides, topics: Topics, options: Options, text: str) -> None:
    assert topics.created == TOPIC
    assert text in sides.error(THEIRS, options)
    assert text in sides.error(OURS, options)


class OtherWords(NamedTuple):
    """Both fail for the same cause, with different texts."""

    options: Options
    theirs: str
    ours: str
    reason: str


def not_a_number(option: str, text: str) -> OtherWords:
    return OtherWords(
        READ | {option: text},
        f'For input string: "{text}"',
        f"Option '{option}' must be",
        "an error names the option",
    )


TIMESTAMPS: Final = 'Expected e.g. {"topicA": {"0": 123456789, "1": 123456789},'
LIKELY_TIMESTAMPS: Final = 'Expected e.g. {"topicA":{"0":1760000000000,"1":1760000000000}'
MINUS_3: Final = (
    "for created-1 it holds -3, which is neither an offset nor -1 (latest) nor -2 (earliest)"
)

OTHER_WORDS: Final = [
    *(
        not_a_number(option, text)
        for option, text in (
            ("failOnDataLoss", "maybe"),
            ("includeHeaders", "maybe"),
            ("minPartitions", "a"),
            ("minPartitions", "1.0"),
            ("maxRecordsPerPartition", "a"),
            ("fetchOffset.numRetries", "x"),
            ("fetchOffset.retryIntervalMs", "x"),
            ("kafkaConsumer.pollTimeoutMs", "x"),
        )
    ),
    OtherWords(
        READ | {"maxRecordsPerPartition": "0"},
        "maxrecordsperpartition must be positive",
        "maxRecordsPerPartition must be positive",
        "options are spelled as in the documentation",
    ),
    OtherWords(
        {"subscribePattern": "["},
        "Unclosed character class",
        "Option 'subscribePattern' must be a regular expression",
        "an error names the option",
    ),
    OtherWords(
        {"subscribe": "no-such-topic", "fetchOffset.numRetries": "1"},
        "This server does not host this topic-partition",
        "Cannot read topic 'no-such-topic' of the option 'subscribe'",
        "an error names the topic",
    ),
    *(
        OtherWords(
            READ | {option: "{"}, TIMESTAMPS, LIKELY_TIMESTAMPS, "an example with a recent time"
        )
        for option in ("startingOffsetsByTimestamp", "endingOffsetsByTimestamp")
    ),
    *(
        OtherWords(READ | {option: of(0, -3, 0)}, theirs, MINUS_3, "at load(), not in a task")
        for option, theirs in (
            ("startingOffsets", "earliest offset -3 does not equal -2"),
            ("endingOffsets", "latest offset -3 does not equal -1"),
        )
    ),
    OtherWords(
        READ | {"startingOffsetsByTimestampStrategy": "soon"},
        "No value found for 'SOON'",
        "Option 'startingOffsetsByTimestampStrategy' must be error or latest, got 'soon'",
        "an error names the option",
    ),
    *(
        OtherWords(
            READ | {f"kafka.{name}": "x"},
            f"Invalid value x for configuration {name}",
            f"Option 'kafka.{name}' has the value 'x'",
            "at load(), not in a task",
        )
        for name in ("isolation.level", "max.partition.fetch.bytes")
    ),
]


@pytest.mark.parametrize("case", OTHER_WORDS, ids=lambda case: case.ours[:40])
def test_the_same_error_in_other_words(sides: Sides, topics: Topics, case: OtherWords) -> None:
    assert topics.created == TOPIC
    assert case.theirs in sides.error(THEIRS, case.options)
    assert case.ours in sides.error(OURS, case.options)


# Accepted by Spark's connector, refused by pykafka: options, pykafka's error text, the reason.
REFUSED: Final[list[tuple[Options, str, str]]] = [
    (
        {"assign": json.dumps({TOPIC: [0, 9]})},
        "Partition created-9 does not exist",
        "the connector silently ignores it",
    ),
    (
        READ | {"startingOffsets": of(1.5, 0, 0)},
        "for created-0 it holds 1.5, which is neither an offset",
        "the connector reads from 1",
    ),
    (
        READ | {"startingOffset": "earliest"},
        "Option 'startingoffset' is not known to pykafka: did you mean 'startingOffsets'?",
        "the connector ignores it, and reads with the default",
    ),
    (
        READ | {"kafka.bootstrap.severs": "x"},
        "Option 'kafka.bootstrap.severs' is not known; did you mean 'kafka.bootstrap.servers'?",
        "Java's client ignores it with a warning",
    ),
]


@pytest.mark.parametrize(
    ("options", "text", "reason"), REFUSED, ids=[row[1][:40] for row in REFUSED]
)
def test_only_pykafka_refuses(
    sides: Sides, topics: Topics, options: Options, text: str, reason: str
) -> None:
    assert topics.created == TOPIC
    assert sides.load(THEIRS, options).count()
    assert text in sides.error(OURS, options)


# Accepted by pykafka, refused by Spark's connector: options, its error text, the reason.
ACCEPTED: Final[list[tuple[Options, str, str]]] = [
    (
        READ | {"kafka.isolation.level": "READ_COMMITTED"},
        "Invalid value READ_COMMITTED for configuration isolation.level",
        "the driver of the connector accepts any case, its tasks do not",
    ),
    (
        READ | {"minOffsetsPerTrigger": "20", "maxOffsetsPerTrigger": "10"},
        "The value of minOffsetPerTrigger(20) is higher than the maxOffsetsPerTrigger(10)",
        "neither has an effect in a batch; pykafka warns",
    ),
]


@pytest.mark.parametrize(
    ("options", "text", "reason"), ACCEPTED, ids=[row[1][:40] for row in ACCEPTED]
)
def test_only_pykafka_accepts(
    sides: Sides, topics: Topics, options: Options, text: str, reason: str
) -> None:
    assert topics.created == TOPIC
    assert text in sides.error(THEIRS, options)
    assert in_order(sides.load(OURS, options)) == in_order(sides.load(THEIRS, READ))


def test_a_schema_is_a_projection_in_pykafka_only(sides: Sides, topics: Topics) -> None:
    theirs, ours = (
        sides.reader(each, {"subscribe": topics.created}).schema("offset long, value binary")
        for each in FORMATS
    )
    with pytest.raises(AnalysisException, match="user-specified schema"):
        theirs.load()
    assert ours.load().count() == 90
