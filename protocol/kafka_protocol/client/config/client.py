"""The "kafka.*" options as one frozen, typed value. Nothing is read from anywhere else.

Names and meanings are those of Kafka's Java clients (the "Consumer Configs" and "Producer
Configs" of its documentation); librdkafka's where Java has none. An option that is not understood
is an error with the nearest name, never ignored. What TLS and SASL want stands in
`security_options`, what the producer's options take in `producer_options`.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from kafka_protocol.client.config.option import (
    boolean,
    declared_in,
    integer,
    one_of,
    option,
    read_options,
)
from kafka_protocol.client.config.producer_options import (
    PRODUCER_REFUSED,
    PRODUCER_WITHOUT_EFFECT,
    consequences,
    read_acks,
    read_codec,
    read_gzip_level,
)
from kafka_protocol.client.config.security_options import (
    SECURITY_REFUSED,
    SECURITY_WITHOUT_EFFECT,
    SecurityOptions,
)
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.messages.fetch import ISOLATION_LEVELS
from kafka_protocol.messages.produce import ACKS_ALL
from kafka_protocol.records.compression import (
    DEFAULT_MAX_DECOMPRESSED_BYTES,
    Compression,
    CompressionCodec,
)
from kafka_protocol.releases import parse_release

_log = logging.getLogger(__name__)


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


# host:port, with an optional listener prefix as in the broker's own configuration.
_ADDRESS: Final = re.compile(
    r"(?:[A-Za-z_]+://)?(?:\[(?P<ipv6>[0-9A-Fa-f:.%]+)\]|(?P<host>[^\[\]\s:,/]+)):(?P<port>\d{1,5})"
)


def _addresses(text: str) -> tuple[Address, ...]:
    addresses = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        match = _ADDRESS.fullmatch(item)
        if match is None or not 0 < int(match["port"]) < 65536:
            raise ValueError(f"{item!r} is no host:port")
        addresses.append(Address(match["ipv6"] or match["host"], int(match["port"])))
    if not addresses:
        raise ValueError("it names no host:port")
    return tuple(addresses)


def _fallback(text: str) -> str:
    try:
        release = parse_release(text)
    except ValueError:
        raise ValueError("it must be a release of Kafka, for example 0.9.0") from None
    if release < (0, 8, 2):
        raise ValueError("brokers older than 0.8.2 are not supported")
    return text.strip()


# Java takes the default level for lz4's fast method (Lz4BlockOutputStream), and all others, above
# and below it, for levels of the slow one.
_LZ4_FAST: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """How to talk to a cluster. Each field is one option; its metadata holds name and meaning."""

    bootstrap_servers: tuple[Address, ...] = option(
        "bootstrap.servers", _addresses, (), "The brokers to ask first: `host:port,host:port`."
    )
    client_id: str = option(
        "client.id", str, "pykafka", "The name that brokers log, and count quotas by."
    )
    security: SecurityOptions = SecurityOptions()
    client_rack: str = option(
        "client.rack",
        str.strip,
        "",
        "Where this client is, as brokers name racks. A replica nearby is read where the brokers' "
        "`replica.selector.class` chooses one (KIP-392).",
    )
    isolation_level: str = option(
        "isolation.level", one_of(*ISOLATION_LEVELS), "read_uncommitted", "Which records to read."
    )
    connection_setup_timeout_ms: int = option(
        "socket.connection.setup.timeout.ms",
        integer(1),
        10_000,
        "How long brokers may be unreachable before a query fails, while it is planned.",
    )
    api_version_request: bool = option(
        "api.version.request",
        boolean,
        True,
        "Whether to ask each broker for its API versions. Brokers below 0.10 cannot tell.",
    )
    api_version_request_timeout_ms: int = option(
        "api.version.request.timeout.ms",
        integer(1),
        2_000,
        "How long a broker may be silent on that question before it is tried as an old one.",
    )
    broker_version_fallback: str = option(
        "broker.version.fallback",
        _fallback,
        "0.8.2",
        "What a broker that does not know ApiVersions is taken for: 0.8.2 or 0.9.0. With 0.10.0 "
        "or newer nothing is assumed, and such a broker is an error.",
    )
    request_timeout_ms: int = option(
        "request.timeout.ms",
        integer(1),
        30_000,
        "How long to wait for the answer to one request.",
    )
    api_timeout_ms: int = option(
        "default.api.timeout.ms",
        integer(1),
        60_000,
        "How long to try one operation, for example listing offsets, with all its retries.",
    )
    topic_propagation_max_ms: int = option(
        "topic.metadata.propagation.max.ms",
        integer(0),
        30_000,
        "How long a topic that is read may be unknown to the brokers before it counts as deleted.",
    )
    retry_backoff_ms: int = option(
        "retry.backoff.ms", integer(0), 100, "The first pause before a retry; then it doubles."
    )
    retry_backoff_max_ms: int = option(
        "retry.backoff.max.ms", integer(0), 1_000, "The longest pause before a retry."
    )
    max_response_bytes: int = option(
        "receive.message.max.bytes",
        integer(1_000),
        100 * 1024 * 1024,
        "The largest answer to accept from a broker.",
    )
    max_partition_fetch_bytes: int = option(
        "max.partition.fetch.bytes",
        integer(1),
        4 * 1024 * 1024,
        "How much to ask for in one Fetch. A larger batch comes whole all the same.",
    )
    fetch_min_bytes: int = option(
        "fetch.min.bytes",
        integer(0),
        1,
        "How much a broker waits for before it answers a Fetch.",
    )
    fetch_max_wait_ms: int = option(
        "fetch.max.wait.ms", integer(0), 500, "How long a broker waits for fetch.min.bytes."
    )
    check_crcs: bool = option(
        "check.crcs", boolean, True, "Whether to verify each batch's checksum."
    )
    max_decompressed_bytes: int = option(
        "max.decompressed.batch.bytes",
        integer(1, 2**30),
        DEFAULT_MAX_DECOMPRESSED_BYTES,
        "The most that one batch may unpack to; a guard against decompression bombs.",
    )
    compression_type: CompressionCodec = option(
        "compression.type",
        read_codec,
        CompressionCodec.NONE,
        "How to compress what is written: `none`, `gzip`, `snappy`, `lz4` or `zstd`.",
    )
    gzip_level: int = option(
        "compression.gzip.level",
        read_gzip_level,
        -1,
        "For `gzip`: 1 (fast) to 9 (small), or -1, for 6.",
    )
    lz4_level: int = option(
        "compression.lz4.level",
        integer(1, 17),
        _LZ4_FAST,
        "For `lz4`: 1 to 17 (small), which are all slow but for 9, the fast method, as in Java.",
    )
    zstd_level: int = option(
        "compression.zstd.level",
        integer(-131072, 22),
        3,
        "For `zstd`: -131072 (fast) to 22 (small).",
    )
    acks: int = option(
        "acks",
        read_acks,
        ACKS_ALL,
        "Who must have a record before it counts as written: all replicas in sync (`all` or -1), "
        "or the leader alone (1), with which it can be lost. 0 is refused.",
    )
    enable_idempotence: bool = option(
        "enable.idempotence",
        boolean,
        True,
        "Whether brokers recognise a batch that is written again. Off where `kafka.acks`, "
        "`kafka.retries` or `kafka.max.in.flight.requests.per.connection` do not allow it and it "
        "is not asked for.",
    )
    retries: int = option(
        "retries",
        integer(0),
        2**31 - 1,
        "How often to write a batch again, as long as `kafka.delivery.timeout.ms` lasts.",
    )
    max_in_flight: int = option(
        "max.in.flight.requests.per.connection",
        integer(1),
        5,
        "How many Produce requests may wait for a broker's answer at the same time; more than 5 "
        "only without idempotence.",
    )
    max_request_bytes: int = option(
        "max.request.size",
        integer(1),
        16 * 1024 * 1024,
        "How large a Produce request, and a record before compression with what is around it, may "
        "be, in bytes. Java's default is 1 MiB; here brokers decide, by `max.message.bytes`.",
    )
    batch_bytes: int = option(
        "batch.size",
        integer(1),
        1_000_000,
        "How large a batch is to be when it is sent, in bytes, as far as that can be told from "
        "those before; a larger record gets one for itself. At most `kafka.max.request.size`.",
    )
    delivery_timeout_ms: int = option(
        "delivery.timeout.ms",
        integer(1),
        120_000,
        "How long to try to write a batch, with all retries, in ms; not below "
        "`kafka.request.timeout.ms`.",
    )
    max_block_ms: int = option(
        "max.block.ms",
        integer(1),
        60_000,
        "How long to wait for what must be known before the first batch can be written (a topic's "
        "partitions, a producer id), and for each step of a transaction, in ms.",
    )
    transaction_timeout_ms: int = option(
        "transaction.timeout.ms",
        integer(1),
        60_000,
        "How long a transaction may be open before brokers abort it, in ms. Exactly-once writes "
        "have 900000 unless it is given. Brokers refuse more than their "
        "`transaction.max.timeout.ms`.",
    )

    @property
    def compression(self) -> Compression:
        """The codec of written batches, and its level where it has one."""
        levels = {
            CompressionCodec.GZIP: self.gzip_level,
            CompressionCodec.LZ4: None if self.lz4_level == _LZ4_FAST else self.lz4_level,
            CompressionCodec.ZSTD: self.zstd_level,
        }
        return Compression(self.compression_type, levels.get(self.compression_type))

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> ClientConfig:
        """Read options without their "kafka." prefix.

        Raises:
            KafkaConfigError: A name is unknown, a value cannot be used, two contradict each
                other, or bootstrap.servers is missing. Names the option; shows no value that
                could be a secret.
        """
        tables = (declared_in(SecurityOptions), declared_in(cls))
        security, own = ({n: v for n, v in options.items() if n in table} for table in tables)
        for name in sorted(options.keys() - security.keys() - own.keys()):
            if name not in _WITHOUT_EFFECT:
                raise KafkaConfigError(_refusal(name, {**tables[0], **tables[1]}))
            _log.warning("The option kafka.%s has no effect in pykafka.", name)
        if "bootstrap.servers" not in own:
            raise KafkaConfigError(
                "Option 'kafka.bootstrap.servers' must be specified: host:port of one or more "
                "brokers, separated by commas"
            )
        given = read_options(cls, own)
        config = cls(**given, security=_read_security(security))
        return replace(config, **consequences(config, given))


def _read_security(options: Mapping[str, str]) -> SecurityOptions:
    if not options:
        return SecurityOptions()
    # Only who uses it waits for the import of what reads and checks it.
    from kafka_protocol.client.config.security_checks import read_security  # noqa: PLC0415

    return read_security(options)


# What jobs that move here bring along, of the names of Java's consumer and producer. It tunes
# machinery of the Java clients that does not exist here (groups, polls, sockets, metrics), asks for
# what is the case anyway, or is of the source alone, which refuses it itself.
_WITHOUT_EFFECT: Final = (
    SECURITY_WITHOUT_EFFECT
    | PRODUCER_WITHOUT_EFFECT
    | {
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "auto.include.jmx.reporter",
        "auto.offset.reset",
        "bootstrap.resolve.timeout.ms",
        "client.dns.lookup",
        "connections.max.idle.ms",
        "enable.auto.commit",
        "enable.metrics.push",
        "exclude.internal.topics",
        "fetch.max.bytes",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "internal.leave.group.on.close",
        "internal.throw.on.fetch.stable.offset.unsupported",
        "key.deserializer",
        "max.poll.interval.ms",
        "max.poll.records",
        "metadata.max.age.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partition.assignment.strategy",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "send.buffer.bytes",
        "session.timeout.ms",
        "share.acknowledgement.mode",
        "share.acquire.mode",
        "socket.connection.setup.timeout.max.ms",
        "value.deserializer",
    }
)

_REFUSED: Final[Mapping[str, str]] = {
    **SECURITY_REFUSED,
    **PRODUCER_REFUSED,
    "config.providers": "Java classes cannot be loaded; give the values themselves",
    "sasl.oauthbearer.jwt.validator.class": "Java classes cannot be loaded; brokers check tokens",
    "security.providers": "Java classes cannot be loaded; TLS is the system's OpenSSL here",
}

# Eleven names, for the grant type jwt-bearer (KIP-1139).
_ASSERTION: Final = "sasl.oauthbearer.assertion."


def _refusal(name: str, known: Iterable[str]) -> str:
    if name in _REFUSED:
        return f"Option 'kafka.{name}' is not supported: {_REFUSED[name]}"
    if name.startswith(_ASSERTION):
        return (
            f"Option 'kafka.{name}' is not supported: a function in Python that returns a token is "
            "named in kafka.sasl.oauthbearer.token.callback"
        )
    nearest = difflib.get_close_matches(name, [*known, *_WITHOUT_EFFECT], n=1)
    hint = f"; did you mean 'kafka.{nearest[0]}'?" if nearest else ""
    return f"Option 'kafka.{name}' is not known{hint}"
