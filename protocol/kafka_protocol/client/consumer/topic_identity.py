"""Whether a topic that is read is still there, and still the same one.

Brokers hear of new and of deleted topics at different times, so one broker's word is not enough:
what is unknown is asked for until word has had time to spread. No requests are made here.
"""

from __future__ import annotations

import uuid
from typing import Final

from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.metadata import Topic, has_topic_id
from kafka_protocol.client.config.client import ClientConfig
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

# How many answers in a row must tell another id. A cache, or one broker for a moment, may be older
# than the id; with the back-off between them they take well under a second.
_WORDS_FOR_ANOTHER: Final = 3


class AnotherTopicError(KafkaError):
    """Metadata tells another id than the one that is read: one of the two is old."""


class Presence:
    """What brokers say about the topic of one read, and for how long.

    Args:
        config: For the back-off, and for how long word of a topic may take.
        topic_partition: What is read.
        topic_id: The id that the topic must have; None or ZERO_UUID: the first that is told.
    """

    def __init__(
        self, config: ClientConfig, topic_partition: TopicPartition, topic_id: uuid.UUID | None
    ) -> None:
        self.topic_id = topic_id or ZERO_UUID
        self._config = config
        self._topic_partition = topic_partition
        self.confirmed()

    def __repr__(self) -> str:
        return f"<Presence of {self._topic_partition}, id {self.topic_id}>"

    @property
    def has_id(self) -> bool:
        """Whether the topic can be asked for by its id."""
        return self.topic_id != ZERO_UUID

    def confirmed(self) -> None:
        """A leader answered for the topic."""
        self._retry: Retry | None = None
        self._others = 0

    def check(self, topic: Topic) -> None:
        """Compare with what metadata says; brokers below 2.8 tell no ids.

        Raises:
            AnotherTopicError: It is another topic of the same name.
        """
        if not has_topic_id(topic):
            return
        if self.has_id and self.topic_id != topic.topic_id:
            raise AnotherTopicError(
                f"Metadata of {self._topic_partition}: the topic id is {topic.topic_id}, and "
                f"{self.topic_id} is read"
            )
        self.topic_id = topic.topic_id
        self._others = 0

    def wait_after(self, error: KafkaError, offset: int) -> None:
        """Wait before brokers are asked again.

        Args:
            error: One that `is_doubtful`.
            offset: Where the read stands.

        Raises:
            TopicGoneError: Word of the topic had time enough to spread.
        """
        if self._retry is None:
            propagation_ms = self._config.topic_propagation_max_ms
            self._retry = Retry(self._config, Deadline.after(propagation_ms), propagation_ms)
        if isinstance(error, AnotherTopicError):
            self._others += 1
            if self._others >= _WORDS_FOR_ANOTHER:
                raise self._gone(offset, "was deleted and its topic re-created") from error
        try:
            self._retry.wait(error)
        except KafkaError:
            waited = f"{self._config.topic_propagation_max_ms} ms"
            what = f"is unknown to the brokers for {waited}, so it was deleted"
            raise self._gone(offset, what) from error

    def _gone(self, offset: int, what: str) -> TopicGoneError:
        return TopicGoneError(self._topic_partition, offset, what)


def is_doubtful(error: KafkaError) -> bool:
    """Whether an error says that the topic is not there, or that it is another one."""
    is_unknown = isinstance(error, BrokerError) and error.error in _UNKNOWN
    return is_unknown or isinstance(error, AnotherTopicError)
