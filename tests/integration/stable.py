"""The ends of partition 0 of a topic: with and without what is still in a transaction."""

from __future__ import annotations

from contextlib import closing

from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.integration.clients import connect, soon


def latest(kafka: KafkaCluster, topic: str, isolation_level: str) -> int:
    """The last stable offset for read_committed, the high watermark for read_uncommitted."""
    partition = TopicPartition(topic, 0)
    with closing(connect(kafka, isolation_level=isolation_level)) as cluster:
        return list_offsets(cluster, {partition: LATEST_TIMESTAMP}, soon())[partition]


def ends(kafka: KafkaCluster, topic: str) -> tuple[int, int]:
    """The last stable offset and the high watermark."""
    return latest(kafka, topic, "read_committed"), latest(kafka, topic, "read_uncommitted")


def expect_all_stable(kafka: KafkaCluster, topic: str, seconds: float) -> None:
    """Waits: brokers write a marker after they have confirmed the end of its transaction."""

    def is_stable() -> bool:
        last_stable_offset, high_watermark = ends(kafka, topic)
        return last_stable_offset == high_watermark

    assert Deadline(seconds).wait_for(is_stable), ends(kafka, topic)
