from __future__ import annotations

import pytest

from kafka_protocol.options.partitioners import (
    DEFAULT,
    PARTITIONERS,
    ROUND_ROBIN,
    STICKY,
    Partitioner,
)
from kafka_spark_source.options.write import Identity, WriteOptions, parse_write_options
from tests.config_error import config_error

BROKERS = {"kafka.bootstrap.servers": "b:1"}


def test_all_options_of_a_write() -> None:
    options = {**BROKERS, "Topic": " t ", "includeHeaders": "true", "path": "other"}
    options |= {"checkpointLocation": "ignored", "queryName": "ignored"}
    kafka = {"bootstrap.servers": "b:1"}
    assert parse_write_options(options) == WriteOptions("t", DEFAULT, None, None, "other", kafka)
    assert parse_write_options(BROKERS) == WriteOptions(None, DEFAULT, None, None, None, kafka)


@pytest.mark.parametrize("path", ["t", "file:/warehouse/table", "/tmp/t", "", "a,/b"])
def test_a_path_that_is_no_misplaced_topic(path: str) -> None:
    assert parse_write_options({**BROKERS, "topic": "t", "path": path}).argument is None


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
    ids=str,
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
        (
            {"kafka.KEY.serializer": "x"},
            "Kafka option 'key.serializer' is not supported. Keys are written unchanged: make "
            "the column 'key' a string or binary before.",
        ),
        (
            {"kafka.value.serializer": "x"},
            "Kafka option 'value.serializer' is not supported. Values are written unchanged: "
            "make the column 'value' a string or binary before.",
        ),
        (
            {"SubscribePattern": "t"},
            "Option 'subscribePattern' is for a read, not for a write: remove it.",
        ),
        (
            {"subscribe": "t"},
            "Option 'subscribe' is for a read, not for a write: name the topic to write to in the "
            "option 'topic'.",
        ),
        (
            {"topic": "my orders"},
            "Option 'topic' names the topic 'my orders' (9 characters), and brokers accept 1 to "
            "249 letters of a-z and A-Z, digits, '.', '_' and '-': correct the name.",
        ),
        (
            {"deliveryGuarantee": "exactly-once"},
            "Option 'deliveryGuarantee' is 'exactly-once' and must be one of at_least_once, "
            "exactly_once: did you mean 'exactly_once'?",
        ),
        ({"topics": "t"}, "Option 'topics' is not known to pykafka: did you mean 'topic'?"),
        (
            {
                "kafka.partitioner": "random",
                "kafka.partitioner.class": JAVAS + "RoundRobinPartitioner",
            },
            "Only one option can choose the partitioner. Keep one of kafka.partitioner and "
            "kafka.partitioner.class.",
        ),
        (
            {"kafka.partitioner": "murmur2", "kafka.partitioner.ignore.keys": "true"},
            "Only one option can choose the partitioner. Keep one of kafka.partitioner and "
            "kafka.partitioner.ignore.keys.",
        ),
        (
            {"kafka.partitioner.ignore.keys": "yes"},
            "Option 'kafka.partitioner.ignore.keys' must be true or false, got 'yes'.",
        ),
        (
            {"kafka.partitioner": "mine"},
            f"Option 'kafka.partitioner' must be one of {', '.join(PARTITIONERS)}, got 'mine'.",
        ),
    ],
    ids=str,
)
def test_a_write_is_refused(options: dict[str, str], message: str) -> None:
    assert config_error(parse_write_options, BROKERS | options) == message


def test_a_write_needs_brokers() -> None:
    assert config_error(parse_write_options, {"topic": "t"}) == (
        "Option 'kafka.bootstrap.servers' must be specified for configuring Kafka producer: "
        "set it to the addresses of some brokers, host:port."
    )


# --- Exactly once --------------------------------------------------------------------------------

EXACTLY_ONCE = {**BROKERS, "deliveryGuarantee": "Exactly_Once"}


def test_the_identity_of_an_exactly_once_write() -> None:
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
        ({"transactionalIdPrefix": "p"}, "'transactionalIdPrefix' is for exactly-once"),
        ({"commitLogTopic": "l"}, "'commitLogTopic' is for exactly-once"),
        ({"deliveryGuarantee": "once"}, "must be one of at_least_once, exactly_once"),
    ],
    ids=["no prefix", "blank prefix", "prefix alone", "commit log alone", "unknown guarantee"],
)
def test_exactly_once_needs_a_prefix(options: dict[str, str], message: str) -> None:
    assert message in config_error(parse_write_options, BROKERS | options)
