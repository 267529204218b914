"""Creates a topic on a KRaft broker: CreateTopics v2, and Metadata v0 until it has leaders.

It does not use the protocol package, because the tests of that package use this one. It must not
know the cluster: `cluster.py` chooses the brokers.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kafka_spark_source.testing.broker import probe
from kafka_spark_source.testing.errors import LocalBrokerError

if TYPE_CHECKING:
    from kafka_spark_source.testing.broker.probe import Address

_CREATE_TOPICS = 19
_VERSION = 2  # the oldest of Kafka 4
_TIMEOUT_MS = 30_000


def create_topic(address: Address, topic: str, partitions: int, replication_factor: int) -> None:
    """Returns when the controller has created the topic; brokers may know it a moment later.

    Raises:
        LocalBrokerError: The cluster refused, for example because the topic is there already.
    """
    name = _string(topic)
    # No assignments, no configurations.
    new = name + struct.pack(">ihii", partitions, replication_factor, 0, 0)
    body = struct.pack(">i", 1) + new + struct.pack(">i?", _TIMEOUT_MS, False)
    try:
        response = probe.request(address, _CREATE_TOPICS, body, version=_VERSION)
        # The throttle time and the number of topics come first.
        error, length = struct.unpack_from(">hh", response, 8 + len(name))
    except (OSError, ValueError, struct.error) as cause:
        raise LocalBrokerError(f"the topic {topic!r} was not created: {cause}") from cause
    if error:
        message = response[12 + len(name) :][: max(length, 0)].decode(errors="replace")
        raise LocalBrokerError(f"the topic {topic!r} was not created: error {error}, {message}")


def is_ready(address: Address, topic: str) -> bool:
    """Whether a broker knows a leader of each partition of the topic."""
    try:
        response = probe.request(address, probe.METADATA, struct.pack(">i", 1) + _string(topic))
        return _has_leaders(response)
    except (OSError, ValueError, struct.error):
        return False


def _has_leaders(metadata: bytes) -> bool:
    """Whether no error is in a Metadata v0 response, of the topic or of one of its partitions."""
    (brokers,) = struct.unpack_from(">i", metadata)
    position = 4
    for _ in range(brokers):
        (host_length,) = struct.unpack_from(">h", metadata, position + 4)
        position += 4 + 2 + host_length + 4
    topic_error, name_length = struct.unpack_from(">hh", metadata, position + 4)
    position += 4 + 2 + 2 + name_length
    (partitions,) = struct.unpack_from(">i", metadata, position)
    position += 4
    errors = [topic_error]
    for _ in range(partitions):
        error, _partition, _leader, replicas = struct.unpack_from(">hiii", metadata, position)
        position += 14 + 4 * replicas
        (in_sync,) = struct.unpack_from(">i", metadata, position)
        position += 4 + 4 * in_sync
        errors.append(error)
    return not any(errors)


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">h", len(encoded)) + encoded
