"""Whether a topic still exists, and is still the topic that a read began with.

Sends the requests, waits, and raises; `topic_watch` decides. A topic is gone when its id
was known and no broker knows it (`deleted_topics`), or when it is unknown for
topic.metadata.propagation.max.ms; it is re-created when responses have another id for a while.
"""

from __future__ import annotations

import uuid
from typing import Final

from kafka_protocol.client.clock import Deadline, monotonic_ms, pause_before_retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Topic, has_topic_id
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.deleted_topics import unknown_to_all
from kafka_protocol.client.consumer.errors import TopicGoneError
from kafka_protocol.client.consumer.topic_watch import Event, TopicWatch, Verdict
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.primitives import ZERO_UUID

_GONE: Final = {
    Verdict.RECREATED: "was deleted and its topic re-created",
    Verdict.DELETED: "is unknown to every broker, so it was deleted",
    Verdict.UNKNOWN_TOO_LONG: "is unknown to the brokers for {unknown_ms} ms, so it was deleted",
}

_UNKNOWN: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)


class AnotherTopicError(KafkaError):
    """Metadata has another topic id than the read: one of the two is stale."""


class TopicIdentity:
    """The expected id of the topic of one read, and the statements of brokers about it.

    With None or ZERO_UUID, the first id in metadata is expected.
    """

    def __init__(
        self, cluster: Cluster, topic_partition: TopicPartition, topic_id: uuid.UUID | None
    ) -> None:
        self.topic_id = topic_id or ZERO_UUID
        self._cluster = cluster
        self._topic_partition = topic_partition
        self._watch = new_watch(cluster.config)
        self._failures = 0

    def __repr__(self) -> str:
        return f"<TopicIdentity of {self._topic_partition}, id {self.topic_id}, {self._watch!r}>"

    @property
    def has_id(self) -> bool:
        """Whether an id is expected, so that requests can name the topic by it."""
        return self.topic_id != ZERO_UUID

    def mark_confirmed(self) -> None:
        """Note that a leader responded for the topic."""
        self._failures = 0
        self._watch.note(Event.CONFIRMED, monotonic_ms())

    def check(self, topic: Topic) -> None:
        """Compare with metadata, which has no ids below Kafka 2.8. Adopts the first id.

        Raises:
            AnotherTopicError: Metadata has another topic of the same name.
        """
        if not has_topic_id(topic):
            return
        if self.has_id and self.topic_id != topic.topic_id:
            raise AnotherTopicError(
                f"Metadata of {self._topic_partition}: the topic id is {topic.topic_id}, but "
                f"the read began with {self.topic_id}"
            )
        self.topic_id = topic.topic_id
        self._watch.note(Event.SAME_ID, monotonic_ms())

    def wait_after(self, error: KafkaError, offset: int) -> None:
        """Wait before the next try, after an error for which `is_unknown_topic` is true.

        Raises:
            TopicGoneError: The topic is gone or re-created, as described for the module.
        """
        verdict = self._watch.note(self._event(error), monotonic_ms())
        if verdict in _GONE:
            what = _GONE[verdict].format(unknown_ms=self._cluster.config.topic_propagation_max_ms)
            raise TopicGoneError(self._topic_partition, offset, what) from error
        pause_before_retry(self._cluster.config, self._failures)
        self._failures += 1

    def _event(self, error: KafkaError) -> Event:
        if isinstance(error, AnotherTopicError):
            return Event.ANOTHER_ID
        topic = self._topic_partition.topic
        if self.has_id and unknown_to_all(self._cluster, [topic]):
            return Event.UNKNOWN_TO_ALL
        return Event.UNKNOWN


def new_watch(config: ClientConfig) -> TopicWatch:
    """A watch with the times of a client."""
    return TopicWatch(
        believed_after_ms=config.times.topic_changed_ms,
        unknown_ms=config.topic_propagation_max_ms,
    )


def is_unknown_topic(error: KafkaError) -> bool:
    """Whether an error means that the topic does not exist, or is another topic."""
    is_unknown = isinstance(error, BrokerError) and error.error in _UNKNOWN
    return is_unknown or isinstance(error, AnotherTopicError)


def lacks_topic(cluster: Cluster, topic: str, topic_id: uuid.UUID | None) -> bool:
    """Whether a new Metadata response lacks the topic, or has another one of its name.

    One response alone proves nothing. After a TopicGoneError of one partition, it shows whether the
    other partitions are gone, too. False if no broker responds.
    """
    deadline = Deadline.after(cluster.config.request_timeout_ms)
    try:
        metadata = cluster.topics([topic], deadline)[topic]
    except KafkaError:
        return False
    if metadata.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return True
    is_known = has_topic_id(metadata) and topic_id not in (None, ZERO_UUID)
    return is_known and metadata.topic_id != topic_id
