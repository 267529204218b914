"""A request that a broker serves, and the look-ups that most handlers need."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from kafka_protocol.errors import ErrorCode
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.primitives import ZERO_UUID

if TYPE_CHECKING:
    from tests.simulation.kafka.broker import Broker
    from tests.simulation.kafka.coordinators import S, Shards
    from tests.simulation.kafka.images import TopicImage
    from tests.simulation.kafka.replica import Replica
    from tests.simulation.kafka.session import BrokerSession


def _no_refusal(_topic: str | None = None, _partition: int | None = None) -> ErrorCode:
    return ErrorCode.NONE


@dataclass(frozen=True)
class Call:
    """A request.

    Attributes:
        request: The decoded request; None for a version of ApiVersions that is not served.
        respond: Sends the response, now or later, or nothing (None); then mutes the connection.
        close: Closes the connection instead.
        refusal: The error of a test for a topic's partition, or for a part of the request that
            has none; a broker tells it instead of looking for itself.
        session: The connection; None in tests without one.
    """

    broker: Broker
    request: Any
    version: int
    respond: Callable[..., None]
    close: Callable[[], None]
    refusal: Callable[..., ErrorCode] = _no_refusal
    session: BrokerSession | None = None

    def topic(self, name: str | None, topic_id: uuid.UUID) -> TopicImage | None:
        """A topic by its id if the request has one, else by its name."""
        image = self.broker.image
        if topic_id != ZERO_UUID:
            name = image.names.get(topic_id)
        return image.topics.get(name or "")

    def leader(
        self, topic: str, number: int, epoch: int = -1, *, or_follower: bool = False
    ) -> tuple[ErrorCode, Replica | None]:
        """The replica that serves a partition, or why there is none here."""
        refusal = self.refusal(topic, number)
        if refusal:
            return refusal, None
        return self._leader(topic, number, epoch, or_follower=or_follower)

    def _leader(
        self, topic: str, number: int, epoch: int, *, or_follower: bool
    ) -> tuple[ErrorCode, Replica | None]:
        topic_partition = TopicPartition(topic, number)
        image = self.broker.image
        if image.partition(topic_partition) is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        replica = self.broker.replicas.get(topic_partition)
        if replica is None or replica.topic_id != image.topics[topic].topic_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER, None
        if -1 < epoch < replica.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH, replica
        if epoch > replica.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH, replica
        if not replica.is_leader and not or_follower:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER, replica
        return ErrorCode.NONE, replica

    def coordinator(self, shards: Shards[S], key: str) -> tuple[ErrorCode, S | None]:
        """The coordinator of a key, or why there is none here."""
        refusal = self.refusal()
        return (refusal, None) if refusal else shards.find(key)


Handler: TypeAlias = "Callable[[Call], None]"
