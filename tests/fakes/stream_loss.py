"""Shared by tests of data loss under a stream: options, and changes of topics."""

from __future__ import annotations

import uuid

from kafka_protocol.messages.metadata import MetadataResponse
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.reading import PARTITION
from tests.fakes.stream_reading import Options

OTHER = TopicPartition("u", 0)
GO_ON: Options = {"failOnDataLoss": False}


def fill(cluster: FakeCluster, *names: str, partition: TopicPartition = PARTITION) -> list[str]:
    for name in names:
        cluster.append(partition, name.encode())
    return [*names]


def recreate(cluster: FakeCluster, count: int, partitions: int = 1) -> list[str]:
    """Re-create the topic; returns the values of its records."""
    cluster.add_topic("t", partitions)
    return fill(cluster, *(f"new {number}" for number in range(count)))


def with_topic_id(topic_id: uuid.UUID) -> faults.Fault:
    """Metadata responses have this id for each topic."""

    def change(response: MetadataResponse) -> None:
        for topic in response.topics:
            topic.topic_id = topic_id

    return faults.changed(change)
