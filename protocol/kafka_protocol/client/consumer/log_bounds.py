"""Where the log of one partition begins and ends now, if it still is the log that was planned."""

from __future__ import annotations

import uuid

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Topic
from kafka_protocol.client.consumer.list_offsets import list_positions
from kafka_protocol.client.consumer.topic_identity import Presence, is_doubtful
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_protocol.topic_partition import LogBounds, TopicPartition


def ends_of_log(
    cluster: Cluster, topic_partition: TopicPartition, topic_id: uuid.UUID | None
) -> LogBounds:
    """Ask for both ends of a log.

    An empty log is never fetched from, so whether it is the right one is asked for here.

    Args:
        cluster: Whom to ask.
        topic_partition: Whose log.
        topic_id: The id that the topic must have; None or ZERO_UUID: any.

    Returns:
        The ends; under isolation.level=read_committed the latest is the last stable offset.

    Raises:
        TopicGoneError: The partition is unknown to the brokers for
            topic.metadata.propagation.max.ms, or its topic has another id.
        BrokerError: It may not be read, or stays without a leader.
        BrokerConnectionError, KafkaTimeoutError: Its leader cannot be reached.
    """
    presence = Presence(cluster.config, topic_partition, topic_id)
    positions = (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP)
    while True:
        deadline = Deadline.after(cluster.config.api_timeout_ms)
        try:
            presence.check(_ask_for_topic(cluster, topic_partition, deadline))
            found = list_positions(cluster, {topic_partition: positions}, deadline)
        except KafkaError as error:
            if not is_doubtful(error):
                raise
            presence.wait_after(error, 0)
        else:
            earliest, latest = (found[topic_partition][position] for position in positions)
            # The two are not of the same moment: the log may have lost its head in between.
            return LogBounds(earliest, max(earliest, latest))


def _ask_for_topic(cluster: Cluster, topic_partition: TopicPartition, deadline: Deadline) -> Topic:
    """What brokers say now; what is cached may be older than the plan."""
    topic = cluster.topics([topic_partition.topic], deadline)[topic_partition.topic]
    lacks_it = not topic.error_code and topic_partition.partition not in topic.partitions
    if lacks_it or topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Metadata of {topic_partition}")
    return topic
