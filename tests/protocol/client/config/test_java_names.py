"""Every option of Java's consumer and producer is accepted, without effect, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import KafkaConfigError
from tests.protocol.kafka_jar import BEFORE_4, CURRENT, KafkaJar

SERVERS = {"bootstrap.servers": "localhost:9092"}


class JavaOption(NamedTuple):
    client: str
    name: str
    default: str


def java_options(jar: KafkaJar) -> list[JavaOption]:
    return [JavaOption(*line.split(" ", 2)) for line in jar.run("ConfigNames.java").splitlines()]


@pytest.mark.no_cover
@pytest.mark.parametrize("release", [CURRENT, BEFORE_4])
def test_every_option_is_known(release: str, kafka_jar: Callable[[str], KafkaJar]) -> None:
    """Also those that only older releases have: existing jobs still set them."""
    options = {option.name for option in java_options(kafka_jar(release))}
    assert {"bootstrap.servers", "acks", "group.id"} <= options
    refusals = {name: refusal for name in options if (refusal := refusal_of(name))}
    assert {name: text for name, text in refusals.items() if "is not known" in text} == {}
    assert {name: text for name, text in refusals.items() if f"kafka.{name}" not in text} == {}


def refusal_of(name: str) -> str:
    """The error for an option, or nothing if it is accepted."""
    try:
        ClientConfig.from_options(SERVERS | {name: "1"})
    except KafkaConfigError as error:
        return str(error)
    return ""


def test_defaults_of_the_producer_are_javas(kafka_jar: Callable[[str], KafkaJar]) -> None:
    theirs = {
        option.name: option.default
        for option in java_options(kafka_jar(CURRENT))
        if option.client == "producer"
    }
    ours = ClientConfig()
    assert theirs["acks"] == "all"
    assert ours.acks == -1
    assert theirs["enable.idempotence"] == str(ours.enable_idempotence).lower()
    assert theirs["compression.type"] == ours.compression_type.name.lower()
    numbers = {
        "compression.gzip.level": ours.gzip_level,
        "compression.lz4.level": ours.lz4_level,
        "compression.zstd.level": ours.zstd_level,
        "delivery.timeout.ms": ours.delivery_timeout_ms,
        "max.block.ms": ours.max_block_ms,
        "max.in.flight.requests.per.connection": ours.max_in_flight,
        "request.timeout.ms": ours.request_timeout_ms,
        "retries": ours.retries,
        "retry.backoff.max.ms": ours.retry_backoff_max_ms,
        "retry.backoff.ms": ours.retry_backoff_ms,
        "transaction.timeout.ms": ours.transaction_timeout_ms,
    }
    assert {name: int(theirs[name]) for name in numbers} == numbers
