"""The bounds of logs, with or without a check that their topics are the planned ones."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import Final

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Topic
from kafka_protocol.client.consumer.list_offsets import list_positions
from kafka_protocol.client.consumer.topic_identity import TopicIdentity, is_unknown_topic
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_protocol.topic_partition import LogBounds, TopicPartition
from kafka_protocol.wire.primitives import ZERO_UUID

_BOUNDS: Final = (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP)


def list_log_bounds(
    cluster: Cluster, partitions: Collection[TopicPartition], deadline: Deadline
) -> dict[TopicPartition, LogBounds]:
    """The first offset of each log, and its end: the offset after the last record.

    Under isolation.level=read_committed, the latest is the last stable offset.

    Raises:
        KafkaError: As from `list_positions`.
    """
    listed = list_positions(cluster, dict.fromkeys(partitions, _BOUNDS), deadline)
    return {tp: LogBounds.of(at[EARLIEST_TIMESTAMP], at.values()) for tp, at in listed.items()}


def list_log_bounds_of_topic(
    cluster: Cluster, topic_partition: TopicPartition, topic_id: uuid.UUID | None
) -> LogBounds:
    """The bounds of a log, if its topic has the expected id; None or ZERO_UUID accept any.

    An empty log is never fetched from, so the topic is checked here.

    Raises:
        TopicGoneError: The topic was deleted or re-created, as `topic_identity` describes.
        BrokerError: The principal may not read it, or it stays without a leader.
        BrokerConnectionError, KafkaTimeoutError: Its leader cannot be reached.
    """
    identity = TopicIdentity(cluster, topic_partition, topic_id)
    while True:
        deadline = Deadline.after(cluster.config.api_timeout_ms)
        try:
            identity.check(_request_topic(cluster, topic_partition, deadline))  # point: empty-range
            return list_log_bounds(cluster, [topic_partition], deadline)[topic_partition]
        except KafkaError as error:
            if not is_unknown_topic(error):
                raise
            identity.wait_after(error, 0)


def list_log_bounds_together(
    cluster: Cluster, topic_ids: Mapping[TopicPartition, uuid.UUID | None]
) -> dict[TopicPartition, LogBounds]:
    """The bounds of several logs, whose topics have the expected ids, with few requests.

    Logs that need attention are left out: `list_log_bounds_of_topic` waits, or finds the cause.
    """
    deadline = Deadline.after(cluster.config.api_timeout_ms)
    try:
        topics = cluster.topics({tp.topic for tp in topic_ids}, deadline)
        unchanged = [
            tp
            for tp, topic_id in topic_ids.items()
            if tp.partition in topics[tp.topic].partitions
            and not topics[tp.topic].error_code
            and topic_id in (None, ZERO_UUID, topics[tp.topic].topic_id)
        ]
        return list_log_bounds(cluster, unchanged, deadline)
    except KafkaError:
        return {}


def _request_topic(cluster: Cluster, topic_partition: TopicPartition, deadline: Deadline) -> Topic:
    """The topic from a new Metadata response; the cache may be older than the plan."""
    topic = cluster.topics([topic_partition.topic], deadline)[topic_partition.topic]
    lacks_it = not topic.error_code and topic_partition.partition not in topic.partitions
    if lacks_it or topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Metadata of {topic_partition}")
    return topic
