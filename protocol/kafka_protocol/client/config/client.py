"""The "kafka.*" options as one frozen, typed value. No other source of configuration.

Names and meanings come from Kafka's Java clients ("Consumer Configs" and "Producer Configs" of
its documentation), or of librdkafka if Java has no such option. An unknown option is an error
that suggests the nearest name. The options of TLS and SASL are in `security_options`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from kafka_protocol.client.config.addresses import Address, addresses
from kafka_protocol.client.config.java_names import WITHOUT_EFFECT, refusal
from kafka_protocol.client.config.option import (
    KAFKA,
    boolean,
    check_texts,
    declared_in,
    integer,
    one_of,
    option,
    read_options,
)
from kafka_protocol.client.config.producer_options import read_acks, read_codec, read_gzip_level
from kafka_protocol.client.config.references import Referring, resolved
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.config.times import Times
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.messages.fetch import ISOLATION_LEVELS
from kafka_protocol.messages.produce import ACKS_ALL
from kafka_protocol.records.compression import (
    DEFAULT_MAX_DECOMPRESSED_BYTES,
    Compression,
    CompressionCodec,
)
from kafka_protocol.versions.releases import parse_release

_log = logging.getLogger(__name__)


def _fallback_release(text: str) -> str:
    try:
        release = parse_release(text)
    except ValueError:
        raise ValueError("it must be a release of Kafka, for example 0.9.0") from None
    if release < (0, 8, 2):
        raise ValueError("brokers older than 0.8.2 are not supported")
    return text.strip()


# In Java (Lz4BlockOutputStream) the default level means lz4's fast method. All other levels, above
# and below it, are levels of the slow method.
_LZ4_FAST: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig(Referring):
    """The options of a client. Each field is one option; its metadata holds name and meaning."""

    bootstrap_servers: tuple[Address, ...] = option(
        "bootstrap.servers", addresses, (), "The first brokers to contact: `host:port,host:port`."
    )
    client_id: str = option(
        "client.id", str, "pykafka", "The client's name in the brokers' logs and quotas."
    )
    security: SecurityOptions = SecurityOptions()
    times: Times = Times()
    client_rack: str = option(
        "client.rack",
        str.strip,
        "",
        "The rack of this client, as in the brokers' `broker.rack`. Reads use a nearby replica if "
        "the brokers' `replica.selector.class` chooses one (KIP-392).",
    )
    isolation_level: str = option(
        "isolation.level",
        one_of(*ISOLATION_LEVELS),
        "read_uncommitted",
        "Which records to read: "
        "`read_uncommitted`, "
        "all; `read_committed`, "
        "no records of open or "
        "aborted transactions.",
    )
    connection_setup_timeout_ms: int = option(
        "socket.connection.setup.timeout.ms",
        integer(1),
        10_000,
        "How long brokers may be unreachable during the planning of a query before it fails.",
    )
    api_version_request: bool = option(
        "api.version.request",
        boolean,
        True,
        "Whether to request the API versions of each broker; brokers below 0.10 do not know this "
        "request.",
    )
    api_version_request_timeout_ms: int = option(
        "api.version.request.timeout.ms",
        integer(1),
        2_000,
        "How long to wait for the API versions before the broker is treated as an old one.",
    )
    broker_version_fallback: str = option(
        "broker.version.fallback",
        _fallback_release,
        "0.8.2",
        "The assumed release of a broker that does not know ApiVersions: 0.8.2 or 0.9.0. With "
        "0.10.0 or newer such a broker is an error.",
    )
    connections_max_idle_ms: int = option(
        "connections.max.idle.ms",
        integer(-1),
        540_000,
        "How long a connection may be unused before it is closed, at the next request or task of "
        "the same process; -1 for no limit.",
    )
    request_timeout_ms: int = option(
        "request.timeout.ms",
        integer(1),
        30_000,
        "How long to wait for the response to one request. After connections were lost without "
        "being closed, each process of a query waits once for this long.",
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
        "How long brokers may lack a topic before a read treats it as deleted. It is a second or "
        "two if its id was known (brokers from 2.8 on) and every broker lacks it.",
    )
    metadata_max_age_ms: int = option(
        "metadata.max.age.ms",
        integer(0),
        1_000,
        "How old metadata may be before a running stream requests it again, to find new partitions "
        "and topics. Java's default is 300000; Spark's own connector requests it for each trigger.",
    )
    metadata_cluster_check_enable: bool = option(
        "metadata.cluster.check.enable",
        boolean,
        True,
        "Whether each broker checks that metadata names it at its address (brokers from 4.4 on). "
        "If another broker is there, the client requests metadata from a bootstrap server again.",
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
        "The largest response to accept from a broker.",
    )
    max_partition_fetch_bytes: int = option(
        "max.partition.fetch.bytes",
        integer(1),
        8 * 1024 * 1024,
        "The most bytes to request of a partition in one Fetch. The first one requests no more "
        "than about 1 MiB, and the others about as much as the rest of the range needs. A larger "
        "batch is still returned whole. An Arrow batch has as many bytes, within 4 and 16 MiB.",
    )
    fetch_min_bytes: int = option(
        "fetch.min.bytes",
        integer(0),
        1,
        "How many bytes a broker waits for before it responds to a Fetch.",
    )
    fetch_max_wait_ms: int = option(
        "fetch.max.wait.ms", integer(0), 500, "How long a broker waits for `kafka.fetch.min.bytes`."
    )
    check_crcs: bool = option(
        "check.crcs", boolean, True, "Whether to verify each batch's checksum."
    )
    max_decompressed_bytes: int = option(
        "max.decompressed.batch.bytes",
        integer(1, 2**30),
        DEFAULT_MAX_DECOMPRESSED_BYTES,
        "The largest size of a batch after decompression; a guard against decompression bombs.",
    )
    compression_type: CompressionCodec = option(
        "compression.type",
        read_codec,
        CompressionCodec.NONE,
        "How to compress written batches: `none`, `gzip`, `snappy`, `lz4` or `zstd`.",
    )
    gzip_level: int = option(
        "compression.gzip.level",
        read_gzip_level,
        -1,
        "For `gzip`: 1 (fast) to 9 (small); -1 means 6.",
    )
    lz4_level: int = option(
        "compression.lz4.level",
        integer(1, 17),
        _LZ4_FAST,
        "For `lz4`: 1 to 17 (small). As in Java, 9 is the fast method and all others are slow.",
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
        "Which replicas must store a record before it counts as written: all in-sync replicas "
        "(`all` or -1), or only the leader (1), which can lose it. 0 is refused.",
    )
    enable_idempotence: bool = option(
        "enable.idempotence",
        boolean,
        True,
        "Whether brokers recognise a batch that is written again. If not given, it is off if "
        "`kafka.acks`, `kafka.retries` or `kafka.max.in.flight.requests.per.connection` do not "
        "allow it.",
    )
    retries: int = option(
        "retries",
        integer(0),
        2**31 - 1,
        "How often to retry the write of a batch within `kafka.delivery.timeout.ms`.",
    )
    max_in_flight: int = option(
        "max.in.flight.requests.per.connection",
        integer(1),
        5,
        "How many Produce requests may be in flight per broker; above 5 only without idempotence.",
    )
    max_request_bytes: int = option(
        "max.request.size",
        integer(1),
        16 * 1024 * 1024,
        "The largest Produce request, and the largest record before compression with its framing, "
        "in bytes. Java's default is 1 MiB; here the brokers' `max.message.bytes` is the limit.",
    )
    batch_bytes: int = option(
        "batch.size",
        integer(1),
        1_000_000,
        "The target size of a sent batch, in bytes, estimated from earlier batches; a larger "
        "record is sent in its own batch. At most `kafka.max.request.size`.",
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
        "How long to wait for a topic's partitions and a producer id before the first batch is "
        "written, and for each step of a transaction, in ms.",
    )
    transaction_timeout_ms: int = option(
        "transaction.timeout.ms",
        integer(1),
        60_000,
        "How long a transaction may be open before brokers abort it, in ms. The default of "
        "exactly-once writes is 900000. Brokers refuse more than their "
        "`transaction.max.timeout.ms`.",
    )

    @property
    def compression(self) -> Compression:
        """The codec of written batches, and its level if it has one."""
        levels = {
            CompressionCodec.GZIP: self.gzip_level,
            CompressionCodec.LZ4: None if self.lz4_level == _LZ4_FAST else self.lz4_level,
            CompressionCodec.ZSTD: self.zstd_level,
        }
        return Compression(self.compression_type, levels.get(self.compression_type))

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> ClientConfig:
        """Read options without their "kafka." prefix.

        References are resolved here, and again where the configuration is unpickled.

        Raises:
            KafkaConfigError: A name is unknown, a value cannot be used, options contradict each
                other, a reference has no value, or bootstrap.servers is missing. Never contains a
                secret value, nor one of a reference.
        """
        check_texts(options, prefix=KAFKA)
        texts = resolved(options, KAFKA)
        tables = (declared_in(SecurityOptions), declared_in(cls))
        security, own = ({n: v for n, v in texts.items() if n in table} for table in tables)
        for name in sorted(texts.keys() - security.keys() - own.keys()):
            if name not in WITHOUT_EFFECT:
                raise KafkaConfigError(refusal(name, {**tables[0], **tables[1]}))
            _log.warning("The option kafka.%s has no effect in pykafka.", name)
        if "bootstrap.servers" not in own:
            raise KafkaConfigError(
                "Option 'kafka.bootstrap.servers' must be specified: host:port of one or more "
                "brokers, separated by commas"
            )
        given = read_options(cls, own)
        config = _resolve_dependent(cls(**given, security=_read_security(security)), given)
        return config.keeping(options, texts)


def _read_security(options: Mapping[str, str]) -> SecurityOptions:
    if not options:
        return SecurityOptions()
    # Imported only if such options are given, because the import takes time.
    from kafka_protocol.client.config.security_checks import read_security  # noqa: PLC0415

    return read_security(options)


def _resolve_dependent(config: ClientConfig, given: Collection[str]) -> ClientConfig:
    """Adapt producer options to each other, as Java's ProducerConfig does.

    Options in `given` are never changed silently; if they contradict each other, that is an error.
    """
    return replace(
        config,
        enable_idempotence=_enable_idempotence(config, is_given="enable_idempotence" in given),
        delivery_timeout_ms=_delivery_timeout_ms(config, is_given="delivery_timeout_ms" in given),
        batch_bytes=min(config.batch_bytes, config.max_request_bytes),
    )


# Brokers remember the last five batches of a producer in each partition (KIP-98, KAFKA-5494).
REMEMBERED_BATCHES: Final = 5

_IDEMPOTENCE_NEEDS: Final[Mapping[str, Callable[[ClientConfig], bool]]] = {
    "kafka.acks=all": lambda config: config.acks == ACKS_ALL,
    "kafka.retries of at least 1": lambda config: config.retries > 0,
    f"kafka.max.in.flight.requests.per.connection of at most {REMEMBERED_BATCHES}": (
        lambda config: config.max_in_flight <= REMEMBERED_BATCHES
    ),
}


def _enable_idempotence(config: ClientConfig, *, is_given: bool) -> bool:
    missing = [need for need, is_met in _IDEMPOTENCE_NEEDS.items() if not is_met(config)]
    if not config.enable_idempotence or not missing:
        return config.enable_idempotence
    if is_given:
        raise KafkaConfigError(
            f"Option 'kafka.enable.idempotence' needs {' and '.join(missing)}: "
            "change that, or set it to false"
        )
    _log.warning(
        "kafka.enable.idempotence is off, because it needs %s: a batch whose response is lost is "
        "written twice.",
        " and ".join(missing),
    )
    return False


def _delivery_timeout_ms(config: ClientConfig, *, is_given: bool) -> int:
    if is_given and config.delivery_timeout_ms < config.request_timeout_ms:
        raise KafkaConfigError(
            f"Option 'kafka.delivery.timeout.ms' ({config.delivery_timeout_ms}) must not be below "
            f"'kafka.request.timeout.ms' ({config.request_timeout_ms}): no time would be left "
            "after a request without a response"
        )
    return max(config.delivery_timeout_ms, config.request_timeout_ms)
