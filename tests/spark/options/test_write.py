from __future__ import annotations

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.partitioners import DEFAULT, PARTITIONERS, ROUND_ROBIN, STICKY, Partitioner
from kafka_spark_source.options.write import Identity, WriteOptions, parse_write_options

BROKERS = {"kafka.bootstrap.servers": "b:1"}


def test_all_that_a_write_can_be_given() -> None:
    options = {**BROKERS, "Topic": " t ", "includeHeaders": "true", "path": "ignored"}
    options |= {"checkpointLocation": "ignored", "queryName": "ignored"}
    kafka = {"bootstrap.servers": "b:1"}
    assert parse_write_options(options) == WriteOptions("t", DEFAULT, None, kafka)
    assert parse_write_options(BROKERS) == WriteOptions(None, DEFAULT, None, kafka)


JAVAS = "org.apache.kafka.clients.producer."


@pytest.mark.parametrize(
    ("options", "partitioner"),
    [
        ({"kafka.Partitioner": "FNV1A"}, PARTITIONERS["fnv1a"]),
        ({"kafka.partitioner.class": JAVAS + "RoundRobinPartitioner"}, ROUND_ROBIN),
        ({"kafka.partitioner.class": JAVAS + "internals.DefaultPartitioner"}, DEFAULT),
        ({"KAFKA.PARTITIONER.IGNORE.KEYS": " True "}, STICKY),
        ({"kafka.partitioner.ignore.keys": "false"}, DEFAULT),
        (
            {"kafka.partitioner.ignore.keys": "false", "kafka.partitioner": "random"},
            PARTITIONERS["random"],
        ),
    ],
)
def test_the_client_sees_nothing_of_the_partitioner(
    options: dict[str, str], partitioner: Partitioner
) -> None:
    parsed = parse_write_options(BROKERS | options | {"kafka.client.id": "Me"})
    assert parsed.partitioner == partitioner
    assert parsed.kafka == {"bootstrap.servers": "b:1", "client.id": "Me"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            {"topic": "t"},
            "Option 'kafka.bootstrap.servers' must be specified for configuring Kafka producer: "
            "set it to the brokers to ask first, host:port.",
            id="no brokers",
        ),
        pytest.param(
            {**BROKERS, "kafka.KEY.serializer": "x"},
            "Kafka option 'key.serializer' is not supported. Keys are written as they are: make "
            "the column 'key' a string or binary before.",
            id="key.serializer",
        ),
        pytest.param(
            {**BROKERS, "kafka.value.serializer": "x"},
            "Kafka option 'value.serializer' is not supported. Values are written as they are: "
            "make the column 'value' a string or binary before.",
            id="value.serializer",
        ),
        pytest.param(
            {**BROKERS, "SubscribePattern": "t"},
            "Option 'subscribePattern' is for a batch read or a streaming read, not for a write: "
            "remove it.",
            id="an option for reading",
        ),
        pytest.param(
            {**BROKERS, "topics": "t"},
            "Option 'topics' is not known to pykafka: did you mean 'topic'?",
            id="a typo",
        ),
        pytest.param(
            {
                **BROKERS,
                "kafka.partitioner": "random",
                "kafka.partitioner.class": JAVAS + "RoundRobinPartitioner",
            },
            "Only one option can say which partition a row goes to. Of kafka.partitioner and "
            "kafka.partitioner.class, keep one.",
            id="two partitioners",
        ),
        pytest.param(
            {**BROKERS, "kafka.partitioner": "murmur2", "kafka.partitioner.ignore.keys": "true"},
            "Only one option can say which partition a row goes to. Of kafka.partitioner and "
            "kafka.partitioner.ignore.keys, keep one.",
            id="a partitioner, and no keys for it",
        ),
        pytest.param(
            {**BROKERS, "kafka.partitioner.ignore.keys": "yes"},
            "Option 'kafka.partitioner.ignore.keys' must be true or false, got 'yes'.",
            id="neither true nor false",
        ),
        pytest.param(
            {**BROKERS, "kafka.partitioner": "mine"},
            f"Option 'kafka.partitioner' must be one of {', '.join(PARTITIONERS)}, got 'mine'.",
            id="no partitioner's name",
        ),
    ],
)
def test_a_write_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        parse_write_options(options)
    assert str(caught.value) == message


# --- Exactly once --------------------------------------------------------------------------------

EXACTLY_ONCE = {**BROKERS, "deliveryGuarantee": "Exactly_Once"}


def test_who_writes_exactly_once() -> None:
    given = {**EXACTLY_ONCE, "transactionalIdPrefix": " p "}
    parsed = parse_write_options(given)
    assert parsed.exactly_once == Identity("p", "pykafka-commit-log")
    assert parsed.kafka["transaction.timeout.ms"] == "900000"
    other = {"commitLogTopic": "l", "kafka.transaction.timeout.ms": "1000"}
    parsed = parse_write_options(given | other)
    assert parsed.exactly_once == Identity("p", "l")
    assert parsed.kafka["transaction.timeout.ms"] == "1000"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (EXACTLY_ONCE, "needs the option 'transactionalIdPrefix'"),
        ({**EXACTLY_ONCE, "transactionalIdPrefix": " "}, "needs the option"),
        ({**BROKERS, "transactionalIdPrefix": "p"}, "'transactionalIdPrefix' is for exactly-once"),
        ({**BROKERS, "commitLogTopic": "l"}, "'commitLogTopic' is for exactly-once"),
        ({**BROKERS, "deliveryGuarantee": "once"}, "must be one of at_least_once, exactly_once"),
    ],
)
def test_exactly_once_needs_a_name_and_nothing_else_does(
    options: dict[str, str], message: str
) -> None:
    with pytest.raises(KafkaConfigError, match=message):
        parse_write_options(options)
