"""Whether a topic still exists, and is still the topic that a read began with.

Brokers learn of created and deleted topics at different times, so one response proves nothing. A
topic is gone when its id was known and every broker lacks it (`deleted_topics`), or when it is
unknown for topic.metadata.propagation.max.ms; it is re-created when several responses in a row, for
a second, have another id.
"""

from __future__ import annotations

import uuid
from typing import Final

from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Topic, has_topic_id
from kafka_protocol.client.consumer.deleted_topics import DeletedTopics
from kafka_protocol.client.consumer.errors import TopicGoneError
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.primitives import ZERO_UUID
from kafka_protocol.topic_partition import TopicPartition

_UNKNOWN: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)

# How many responses in a row must have another topic id, and for how long. A cache, or one broker
# for a moment, may be older than the id.
_RESPONSES_WITH_ANOTHER_ID: Final = 3
_RECREATED_AFTER_MS: Final = 1_000


class AnotherTopicError(KafkaError):
    """Metadata has another topic id than the read: one of the two is stale."""


class AnotherIdCounter:
    """Counts metadata responses in a row with another topic id, until that id is believed.

    From the first of them to the last, at least a second has to pass.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Note a response with the expected id."""
        self._count = 0

    def add(self) -> bool:
        """Note a response with another id; returns whether that id is believed now."""
        if self._count == 0:
            self._not_before = Deadline.after(_RECREATED_AFTER_MS)
        self._count += 1
        return self._count >= _RESPONSES_WITH_ANOTHER_ID and self._not_before.has_passed


class TopicIdentity:
    """The expected id of the topic of one read, and for how long brokers have contradicted it.

    With None or ZERO_UUID, the first id in metadata is expected.
    """

    def __init__(
        self, cluster: Cluster, topic_partition: TopicPartition, topic_id: uuid.UUID | None
    ) -> None:
        self.topic_id = topic_id or ZERO_UUID
        self._config = cluster.config
        self._topic_partition = topic_partition
        self._another_id = AnotherIdCounter()
        self._deleted = DeletedTopics(cluster)
        self._retry: Retry | None = None
        self._is_last_try = False

    def __repr__(self) -> str:
        return f"<TopicIdentity of {self._topic_partition}, id {self.topic_id}>"

    @property
    def has_id(self) -> bool:
        """Whether an id is expected, so that requests can name the topic by it."""
        return self.topic_id != ZERO_UUID

    def mark_confirmed(self) -> None:
        """Note that a leader responded for the topic."""
        self._retry = None
        self._is_last_try = False
        self._another_id.reset()

    def check(self, topic: Topic) -> None:
        """Compare with metadata, which has no ids below Kafka 2.8. Adopts the first id.

        Raises:
            AnotherTopicError: Metadata has another topic of the same name.
        """
        if not has_topic_id(topic):
            return
        if self.has_id and self.topic_id != topic.topic_id:
            raise AnotherTopicError(
                f"Metadata of {self._topic_partition}: the topic id is {topic.topic_id}, and "
                f"{self.topic_id} is read"
            )
        self.topic_id = topic.topic_id
        self._another_id.reset()

    def wait_after(self, error: KafkaError, offset: int) -> None:
        """Wait before the next try, after an error for which `is_unknown_topic` is true.

        One more try follows when the time is up: a process that stood still has asked nobody.

        Raises:
            TopicGoneError: The topic is gone or re-created, as described for the module.
        """
        if self._retry is None:
            propagation_ms = self._config.topic_propagation_max_ms
            self._retry = Retry(self._config, Deadline.after(propagation_ms), propagation_ms)
        if isinstance(error, AnotherTopicError) and self._another_id.add():
            raise self._gone(offset, "was deleted and its topic re-created") from error
        if self.has_id and self._deleted.deleted_among([self._topic_partition.topic]):
            raise self._gone(offset, "is unknown to every broker, so it was deleted") from error
        try:
            self._retry.wait(error)
        except KafkaError:
            if not self._is_last_try:
                self._is_last_try = True
                return
            waited_ms = self._config.topic_propagation_max_ms
            what = f"is unknown to the brokers for {waited_ms} ms, so it was deleted"
            raise self._gone(offset, what) from error

    def _gone(self, offset: int, what: str) -> TopicGoneError:
        return TopicGoneError(self._topic_partition, offset, what)


def is_unknown_topic(error: KafkaError) -> bool:
    """Whether an error means that the topic does not exist, or is another topic."""
    is_unknown = isinstance(error, BrokerError) and error.error in _UNKNOWN
    return is_unknown or isinstance(error, AnotherTopicError)


def lacks_topic(cluster: Cluster, topic: str, topic_id: uuid.UUID | None) -> bool:
    """Whether a new Metadata response lacks the topic, or has another one of its name.

    One response alone proves nothing. After a TopicGoneError of one partition, it tells whether the
    other partitions are gone, too. False if no broker responds.
    """
    deadline = Deadline.after(cluster.config.request_timeout_ms)
    try:
        found = cluster.topics([topic], deadline)[topic]
    except KafkaError:
        return False
    if found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return True
    is_known = has_topic_id(found) and topic_id not in (None, ZERO_UUID)
    return is_known and found.topic_id != topic_id
