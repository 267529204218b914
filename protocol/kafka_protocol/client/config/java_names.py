"""Option names of Kafka's Java clients that pykafka ignores or refuses, and the error texts.

Jobs written for the JVM connector still set these options. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kafka_protocol.client.config.security_options import CONVERT_KEY_STORE, CONVERT_TRUST_STORE
from kafka_protocol.options.nearest_name import did_you_mean

# These tune parts of the Java producer that do not exist here: its buffer, its adaptive
# partitioner, the age of its metadata. The sink itself reads the names of serializers and
# partitioners; they have no effect on a read.
_PRODUCER: Final = """
    buffer.memory buffer.memory.allocation.strategy key.serializer linger.ms metadata.max.idle.ms
    partitioner partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms
    partitioner.class partitioner.ignore.keys partitioner.rack.aware value.serializer
"""
# These tune work that the Java clients or the brokers do and pykafka does not.
_SECURITY: Final = """
    sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
    sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
    sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
    sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
    sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
    sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
    sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
    sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.url
    sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name ssl.keymanager.algorithm
    ssl.provider ssl.secure.random.implementation ssl.trustmanager.algorithm
"""
# These tune the Java consumer (groups, polls, sockets, metrics), name a fixed behaviour of pykafka,
# or are checked by the source.
_CONSUMER: Final = """
    allow.auto.create.topics auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset
    bootstrap.resolve.timeout.ms client.dns.lookup enable.auto.commit
    enable.metrics.push exclude.internal.topics fetch.max.bytes group.id group.instance.id
    group.protocol group.remote.assignor heartbeat.interval.ms internal.leave.group.on.close
    internal.throw.on.fetch.stable.offset.unsupported key.deserializer max.poll.interval.ms
    max.poll.records metadata.recovery.rebootstrap.trigger.ms
    metadata.recovery.strategy metric.reporters metrics.num.samples metrics.recording.level
    metrics.sample.window.ms partition.assignment.strategy receive.buffer.bytes
    reconnect.backoff.max.ms reconnect.backoff.ms sasl.oauthbearer.jwks.endpoint.refresh.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.ms send.buffer.bytes session.timeout.ms
    share.acknowledgement.mode share.acquire.mode socket.connection.setup.timeout.max.ms
    value.deserializer
"""

PRODUCER_WITHOUT_EFFECT: Final = frozenset(_PRODUCER.split())
# All option names that are accepted with a warning.
WITHOUT_EFFECT: Final = PRODUCER_WITHOUT_EFFECT.union(_SECURITY.split(), _CONSUMER.split())

_EXACTLY_ONCE: Final = (
    "set the option deliveryGuarantee=exactly_once for exactly-once writes, which manages the "
    "transactions itself"
)

# All option names that are refused, with the alternative. Their values are never read.
REFUSED: Final[Mapping[str, str]] = {
    "ssl.truststore.password": f"PEM has no such password; {CONVERT_TRUST_STORE}",
    "ssl.keystore.password": (
        f"a private key in PEM has its password in the option ssl.key.password; {CONVERT_KEY_STORE}"
    ),
    "ssl.engine.factory.class": "Java classes cannot be loaded; name PEM files instead",
    "sasl.login.class": "Java classes cannot be loaded",
    "sasl.oauthbearer.jwt.retriever.class": (
        "Java classes cannot be loaded; name a Python function that returns a token in "
        "kafka.sasl.oauthbearer.token.callback"
    ),
    "enable.ssl.certificate.verification": "certificates are always verified",
    "interceptor.classes": "Java classes cannot be loaded; use DataFrame operations instead",
    "transaction.two.phase.commit.enable": _EXACTLY_ONCE,
    "transactional.id": _EXACTLY_ONCE,
    "sasl.oauthbearer.jwt.validator.class": "Java classes cannot be loaded; brokers check tokens",
    "security.providers": "Java classes cannot be loaded; pykafka uses the system's OpenSSL",
}

_PREFIX: Final = "kafka."


def refusal(name: str, known: Iterable[str]) -> str:
    """The error text for an option (without `kafka.`) that is neither read nor ignored.

    Suggests the nearest name of all that are known.
    """
    if name.startswith(_PREFIX):
        return f"Option {name!r}: without Spark, options of the client have no prefix {_PREFIX!r}"
    if name in REFUSED:
        return f"Option 'kafka.{name}' is not supported: {REFUSED[name]}"
    shown = {each: f"kafka.{each}" for each in (*known, *WITHOUT_EFFECT)}
    return f"Option 'kafka.{name}' is not known{did_you_mean(name, shown, before='; ')}"
