"""Both connectors refuse the same streams, with the same condition or text.

The tables list all known differences with their reasons, and the time of the error; those that a
batch has, too, are in `test_errors`. At `load()` a
Python data source does not know whether the read is a batch or a stream: pykafka refuses there what
is invalid for both, and the rest when the query starts. Spark's connector reads some options at
`load()` and the others when the query starts.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Final, NamedTuple

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import IllegalArgumentException, PySparkException

from tests.conformance.sides import FORMATS, OURS, THEIRS, text_of
from tests.conformance.streams import Streams
from tests.conformance.test_errors import REFUSED_AT_LOAD
from tests.conformance.topics import START_MS, Topics
from tests.conformance.topics import of as of_topic
from tests.tiers import first_are_core

pytestmark = [pytest.mark.integration, pytest.mark.spark]

TOPIC: Final = "created"
FAR_MS: Final = START_MS + 10**9

AT_LOAD: Final = "at load()"
LATER: Final = "when the query runs"


@pytest.fixture(autouse=True)
def _topic(topics: Topics) -> None:
    assert topics.created == TOPIC


of = partial(of_topic, TOPIC)


Options = dict[str, "str | None"]
READ: Final[Options] = {"subscribe": TOPIC, "fetchOffset.retryIntervalMs": "10"}
FROM_EARLIEST: Final = READ | {"startingOffsets": "earliest"}


class Refusal(NamedTuple):
    """The time of an error, and a part of its text."""

    when: str
    text: str


def assert_refused(streams: Streams, connector: str, options: Options, by: Refusal) -> None:
    try:
        df = streams.reader(connector, options).load()
    except (PySparkException, Py4JJavaError) as error:
        when, text = AT_LOAD, text_of(error)
    else:
        when, text = LATER, streams.of(df).error()
    assert by.text in text
    assert when == by.when


OFFSETS: Final = 'Expected e.g. {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}, got '
ONE_LONG: Final = "Expected a single long value, got soon"
NO_MATCH: Final = "No offset matched from request of topic-partition created-"
HIGHER: Final = "The value of minOffsetPerTrigger(20) is higher than the maxOffsetsPerTrigger(15)"

# Options, a part of both error texts, the time of the error in Spark's connector and in pykafka.
SAME: Final[list[tuple[Options, str, str, str]]] = [
    *((options, text, AT_LOAD, AT_LOAD) for options, text in REFUSED_AT_LOAD),
    # Options of batches.
    (
        FROM_EARLIEST | {"endingOffsets": "latest"},
        "ending offset not valid in streaming queries",
        AT_LOAD,
        LATER,
    ),
    (
        FROM_EARLIEST | {"endingOffsetsByTimestamp": of(1, 1, 1)},
        "ending timestamp not valid in streaming queries",
        AT_LOAD,
        LATER,
    ),
    # Options of streams.
    (READ | {"minOffsetsPerTrigger": "20", "maxOffsetsPerTrigger": "15"}, HIGHER, AT_LOAD, LATER),
    # Where to start.
    (READ | {"startingOffsets": "soon"}, OFFSETS + "soon", LATER, AT_LOAD),
    (READ | {"startingOffsets": "{"}, OFFSETS + "{", LATER, AT_LOAD),
    (READ | {"startingTimestamp": "soon"}, ONE_LONG, LATER, AT_LOAD),
    (
        READ | {"startingOffsetsByTimestamp": of(0, 0)},
        "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED",
        LATER,
        LATER,
    ),
    (READ | {"startingTimestamp": str(FAR_MS)}, NO_MATCH, LATER, LATER),
]


@pytest.mark.parametrize(
    ("options", "text", "theirs", "ours"),
    first_are_core(SAME),
    ids=[row[1][:40] for row in SAME],
)
def test_the_same_error(
    streams: Streams, options: Options, text: str, theirs: str, ours: str
) -> None:
    assert_refused(streams, THEIRS, options, Refusal(theirs, text))
    assert_refused(streams, OURS, options, Refusal(ours, text))


class OtherWords(NamedTuple):
    """Both fail for the same cause, with different texts."""

    options: Options
    theirs: Refusal
    ours: Refusal
    reason: str


NAMED: Final = "an error names the option"
NOT_A_NUMBER: Final = 'For input string: "{}"'


def bad(option: str, value: str, theirs: Refusal, ours: str) -> OtherWords:
    return OtherWords(
        FROM_EARLIEST | {option: value}, theirs, Refusal(ours, f"Option '{option}' must be"), NAMED
    )


OTHER_WORDS: Final = [
    *(
        bad(option, value, Refusal(theirs, NOT_A_NUMBER.format(value)), ours)
        for option, value, theirs, ours in (
            ("failOnDataLoss", "maybe", LATER, AT_LOAD),
            ("maxOffsetsPerTrigger", "a", LATER, LATER),
        )
    ),
    bad("maxTriggerDelay", "soon", Refusal(LATER, "Failed to parse time string: soon"), LATER),
    OtherWords(
        READ | {"startingOffsets": of(0, 0)},
        Refusal(LATER, "If startingOffsets contains specific offsets, you must specify all"),
        Refusal(LATER, "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED"),
        "the condition that the connector has for it in a batch",
    ),
    OtherWords(
        {"subscribe": "no-such-topic", "fetchOffset.numRetries": "1"},
        Refusal(LATER, "This server does not host this topic-partition"),
        Refusal(LATER, "Cannot read topic 'no-such-topic' of the option 'subscribe'"),
        "an error names the topic",
    ),
    OtherWords(
        FROM_EARLIEST | {"kafka.max.partition.fetch.bytes": "x"},
        Refusal(LATER, "Invalid value x for configuration max.partition.fetch.bytes"),
        Refusal(AT_LOAD, "Option 'kafka.max.partition.fetch.bytes' has the value 'x'"),
        "before a task runs",
    ),
    OtherWords(
        FROM_EARLIEST | {"endingOffsets": "soon"},
        Refusal(AT_LOAD, "ending offset not valid in streaming queries"),
        Refusal(AT_LOAD, OFFSETS + "soon"),
        "no batch could read it either",
    ),
]


@pytest.mark.parametrize("case", OTHER_WORDS, ids=lambda case: case.ours.text[:40])
def test_the_same_error_in_other_words(streams: Streams, case: OtherWords) -> None:
    assert_refused(streams, THEIRS, case.options, case.theirs)
    assert_refused(streams, OURS, case.options, case.ours)


# Accepted by Spark's connector, refused by pykafka: options, pykafka's refusal, the reason, and how
# many rows the connector reads.
REFUSED: Final[list[tuple[Options, Refusal, str, int]]] = [
    (
        FROM_EARLIEST | {"maxOffsetsPerTrigger": "0"},
        Refusal(LATER, "maxOffsetsPerTrigger must be positive"),
        "the connector never reads a row, without an error",
        0,
    ),
    (
        FROM_EARLIEST | {"minOffsetsPerTrigger": "-1"},
        Refusal(LATER, "minOffsetsPerTrigger must be positive"),
        "it has no meaning",
        90,
    ),
    (
        READ | {"startingTimestamp": "-1", "startingOffsetsByTimestampStrategy": "latest"},
        Refusal(AT_LOAD, "Expected a single long value, got -1"),
        "the connector sends it to brokers, for which it means latest",
        0,
    ),
    (
        {"assign": json.dumps({TOPIC: [0, 9]}), "startingOffsets": "earliest"},
        Refusal(LATER, "Partition created-9 does not exist"),
        "the connector silently ignores it",
        60,
    ),
]


@pytest.mark.parametrize(
    ("options", "refusal", "reason", "count"), REFUSED, ids=[row[1].text[:40] for row in REFUSED]
)
def test_only_pykafka_refuses(
    streams: Streams, options: Options, refusal: Refusal, reason: str, count: int
) -> None:
    assert_refused(streams, OURS, options, refusal)
    theirs = streams.of(streams.reader(THEIRS, options).load()).run()
    assert len(theirs.rows) == count


def test_a_schema_is_a_projection_in_pykafka_only(streams: Streams) -> None:
    theirs, ours = (
        streams.reader(each, dict(FROM_EARLIEST)).schema("offset long, partition int, topic string")
        for each in FORMATS
    )
    with pytest.raises(IllegalArgumentException, match="Kafka source has a fixed schema"):
        theirs.load()
    rows = streams.of(ours.load()).run().rows
    assert rows[0].asDict() == {"offset": 0, "partition": 0, "topic": TOPIC}
    assert len(rows) == 90
