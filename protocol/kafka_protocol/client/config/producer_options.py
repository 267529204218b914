"""What the producer's options take, and how they must fit together: as with Java's ProducerConfig.

The options themselves stand in `config`, beside all others of the client. No I/O.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_protocol.client.config.option import integer
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.messages.produce import ACKS_ALL
from kafka_protocol.records.compression import CompressionCodec

if TYPE_CHECKING:
    from kafka_protocol.client.config.client import ClientConfig

_log = logging.getLogger(__name__)


def read_acks(text: str) -> int:
    """Who must have a record before it counts as written: ACKS_ALL or 1."""
    word = text.strip().lower()
    if word == "0":
        raise ValueError(
            "brokers would not answer, and nobody could say whether a record was written; "
            "it must be all, -1 or 1"
        )
    if word not in ("all", "-1", "1"):
        raise ValueError("it must be all, -1 or 1")
    return 1 if word == "1" else ACKS_ALL


def read_codec(text: str) -> CompressionCodec:
    """A codec by its name."""
    name = text.strip().upper()
    if name not in CompressionCodec.__members__:
        raise ValueError(f"it must be one of {', '.join(c.name.lower() for c in CompressionCodec)}")
    return CompressionCodec[name]


def read_gzip_level(text: str) -> int:
    """1 to 9, or -1; 0 would not compress at all."""
    level = integer(-1, 9)(text)
    if level == 0:
        raise ValueError("it must be from 1 to 9, or -1")
    return level


def consequences(config: ClientConfig, given: Collection[str]) -> dict[str, Any]:
    """What the options mean for each other.

    Args:
        config: What was given, and defaults.
        given: The fields that were given.

    Returns:
        Fields to replace.

    Raises:
        KafkaConfigError: Options that were given contradict each other.
    """
    return {
        "enable_idempotence": _enable_idempotence(config, "enable_idempotence" in given),
        "delivery_timeout_ms": _delivery_timeout_ms(config, "delivery_timeout_ms" in given),
        "batch_bytes": min(config.batch_bytes, config.max_request_bytes),
    }


# Brokers remember the last five batches of a producer in each partition (KIP-98, KAFKA-5494).
_REMEMBERED_BATCHES: Final = 5

_IDEMPOTENCE_NEEDS: Final[Mapping[str, Callable[[ClientConfig], bool]]] = {
    "kafka.acks=all": lambda config: config.acks == ACKS_ALL,
    "kafka.retries of at least 1": lambda config: config.retries > 0,
    f"kafka.max.in.flight.requests.per.connection of at most {_REMEMBERED_BATCHES}": (
        lambda config: config.max_in_flight <= _REMEMBERED_BATCHES
    ),
}


def _enable_idempotence(config: ClientConfig, is_asked_for: bool) -> bool:
    missing = [need for need, is_met in _IDEMPOTENCE_NEEDS.items() if not is_met(config)]
    if not config.enable_idempotence or not missing:
        return config.enable_idempotence
    if is_asked_for:
        raise KafkaConfigError(
            f"Option 'kafka.enable.idempotence' needs {' and '.join(missing)}: "
            "change that, or set it to false"
        )
    _log.warning(
        "kafka.enable.idempotence is off, for it needs %s: a batch whose answer is lost is written "
        "twice.",
        " and ".join(missing),
    )
    return False


def _delivery_timeout_ms(config: ClientConfig, is_asked_for: bool) -> int:
    if is_asked_for and config.delivery_timeout_ms < config.request_timeout_ms:
        raise KafkaConfigError(
            f"Option 'kafka.delivery.timeout.ms' ({config.delivery_timeout_ms}) must not be below "
            f"'kafka.request.timeout.ms' ({config.request_timeout_ms}): no time would be left "
            "after a request without an answer"
        )
    return max(config.delivery_timeout_ms, config.request_timeout_ms)


# Of the Java producer's machinery: records that linger in buffers, a partitioner that watches the
# brokers, metadata that ages. Serializers and partitioners are the sink's own business, which
# takes or refuses them before; in a read there is nothing for them to do.
PRODUCER_WITHOUT_EFFECT: Final = frozenset(
    {
        "buffer.memory",
        "key.serializer",
        "linger.ms",
        "metadata.max.idle.ms",
        "partitioner",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.class",
        "partitioner.ignore.keys",
        "value.serializer",
    }
)

_EXACTLY_ONCE: Final = (
    "exactly-once writing is asked for by the option deliveryGuarantee=exactly_once, which sees to "
    "the transactions"
)

# Known, refused, and what to do instead. Their values are never looked at.
PRODUCER_REFUSED: Final[Mapping[str, str]] = {
    "interceptor.classes": "Java classes cannot be loaded; use DataFrame operations instead",
    "transaction.two.phase.commit.enable": _EXACTLY_ONCE,
    "transactional.id": _EXACTLY_ONCE,
}
