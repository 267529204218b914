"""Every option of Java's consumer and producer is accepted, without effect, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import pytest

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import KafkaConfigError
from tests.protocol.kafka_jar import BEFORE_4, CURRENT, KafkaJar

SERVERS = {"bootstrap.servers": "localhost:9092"}

# Of Kafka 4.4.0; a test compares them with its jar.
OF_BOTH: Final = """
    bootstrap.resolve.timeout.ms bootstrap.servers client.dns.lookup client.id client.rack
    config.providers connections.max.idle.ms enable.metrics.push interceptor.classes
    metadata.cluster.check.enable metadata.max.age.ms
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters
    metrics.num.samples metrics.recording.level metrics.sample.window.ms receive.buffer.bytes
    reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retry.backoff.max.ms
    retry.backoff.ms send.buffer.bytes socket.connection.setup.timeout.max.ms
    socket.connection.setup.timeout.ms

    security.protocol security.providers
    ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm
    ssl.engine.factory.class ssl.key.password ssl.keymanager.algorithm
    ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location ssl.keystore.password
    ssl.keystore.type ssl.protocol ssl.provider ssl.secure.random.implementation
    ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location
    ssl.truststore.password ssl.truststore.type

    sasl.client.callback.handler.class sasl.jaas.config sasl.mechanism
    sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.service.name
    sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
    sasl.login.callback.handler.class sasl.login.class sasl.login.connect.timeout.ms
    sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
    sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
    sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
    sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
    sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
    sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
    sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
    sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
    sasl.oauthbearer.assertion.template.file sasl.oauthbearer.client.credentials.client.id
    sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.clock.skew.seconds
    sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
    sasl.oauthbearer.header.urlencode sasl.oauthbearer.jwks.endpoint.refresh.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
    sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
    sasl.oauthbearer.scope sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
    sasl.oauthbearer.token.endpoint.url
"""

OF_THE_PRODUCER: Final = """
    acks batch.size buffer.memory buffer.memory.allocation.strategy
    compression.gzip.level compression.lz4.level compression.type
    compression.zstd.level delivery.timeout.ms enable.idempotence key.serializer linger.ms
    max.block.ms max.in.flight.requests.per.connection max.request.size metadata.max.idle.ms
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
    partitioner.ignore.keys partitioner.rack.aware retries transaction.timeout.ms
    transaction.two.phase.commit.enable transactional.id value.serializer
"""

OF_THE_CONSUMER: Final = """
    allow.auto.create.topics auto.commit.interval.ms auto.offset.reset check.crcs
    default.api.timeout.ms enable.auto.commit exclude.internal.topics fetch.max.bytes
    fetch.max.wait.ms fetch.min.bytes group.id group.instance.id group.protocol
    group.remote.assignor heartbeat.interval.ms
    internal.throw.on.fetch.stable.offset.unsupported isolation.level key.deserializer
    max.partition.fetch.bytes max.poll.interval.ms max.poll.records partition.assignment.strategy
    session.timeout.ms share.acknowledgement.mode share.acquire.mode value.deserializer
"""

# Of older releases; existing jobs still set them.
REMOVED: Final = """
    auto.include.jmx.reporter internal.leave.group.on.close
"""


def listed(*texts: str) -> set[str]:
    return {name for text in texts for name in text.split()}


@pytest.mark.parametrize("name", sorted(listed(OF_BOTH, OF_THE_PRODUCER, OF_THE_CONSUMER, REMOVED)))
def test_option_is_known(name: str) -> None:
    try:
        ClientConfig.from_options(SERVERS | {name: "1"})
    except KafkaConfigError as error:
        assert "is not known" not in str(error)
        assert f"kafka.{name}" in str(error)


class JavaOption(NamedTuple):
    client: str
    name: str
    default: str


def java_options(jar: KafkaJar) -> list[JavaOption]:
    return [JavaOption(*line.split(" ", 2)) for line in jar.run("ConfigNames.java").splitlines()]


def names(options: Iterable[JavaOption], client: str) -> set[str]:
    return {option.name for option in options if option.client == client}


def test_the_lists_are_those_of_kafka(kafka_jar: Callable[[str], KafkaJar]) -> None:
    options = java_options(kafka_jar(CURRENT))
    assert names(options, "producer") == listed(OF_BOTH, OF_THE_PRODUCER)
    assert names(options, "consumer") == listed(OF_BOTH, OF_THE_CONSUMER)


def test_options_that_only_older_releases_have(kafka_jar: Callable[[str], KafkaJar]) -> None:
    options = {option.name for option in java_options(kafka_jar(BEFORE_4))}
    assert options - listed(OF_BOTH, OF_THE_PRODUCER, OF_THE_CONSUMER) == listed(REMOVED)


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
