"""A log that an unclean election truncates under a read, on real brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.fetch import (
    Fetched,
    LogTruncatedError,
    fetch_range,
)
from kafka_protocol.records.record import decode_records
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.fakes.reading import read, write
from tests.integration.clients import SOON_MS, connect, soon

pytestmark = pytest.mark.integration


def rest_of(range_: Iterator[Fetched]) -> list[bytes | None]:
    return [
        r.value for fetched in range_ for batch in fetched.batches for r in decode_records(batch)
    ]


@pytest.mark.slow
def test_fault_20_an_unclean_election_under_a_read() -> None:
    """A lagging replica is elected, and its log grows beyond the position of the read."""
    config = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
    with KafkaCluster(nodes=3, config=config) as kafka:
        client = connect(kafka)
        create_topic(client, NewTopic("cut", replication_factor=2), soon())
        partition = TopicPartition("cut", 0)
        first, lagging = _replicas(kafka, client, partition)
        write(client, b"a", b"b", b"c", topic_partition=partition)
        kafka.kill(lagging)
        write(client, b"lost 3", b"lost 4", topic_partition=partition)
        range_ = fetch_range(client, OffsetRange(partition, 0, 7), SOON_MS)
        found = [r.value for batch in next(range_).batches for r in decode_records(batch)]
        kafka.kill(first)
        kafka.start_node(lagging)
        other = connect(kafka)
        write(other, b"new 3", b"new 4", b"new 5", b"new 6", topic_partition=partition)
        with pytest.raises(LogTruncatedError, match="truncated to offset 3") as caught:
            found += rest_of(range_)
        assert found == [b"a", b"b", b"c", b"lost 3", b"lost 4"]
        assert (caught.value.offset, caught.value.truncated_to) == (5, 3)
        rest = read(other, caught.value.offset, 7, topic_partition=partition)
        assert rest == [(5, b"new 5"), (6, b"new 6")]
        client.close()
        other.close()


def _replicas(kafka: KafkaCluster, client: Cluster, partition: TopicPartition) -> tuple[int, int]:
    """The leader of a partition with two replicas, and the other one."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    topics = admin.list_topics(partition.topic, timeout=20).topics
    leader = client.leader(partition, soon())[0].node_id
    (other,) = set(topics[partition.topic].partitions[partition.partition].replicas) - {leader}
    return leader, other
