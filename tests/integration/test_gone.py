"""Topics that are deleted, re-created, or truncated by an election, on real brokers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka.admin import AdminClient

from kafka_protocol.client.cluster.admin import NewTopic, create_topic, delete_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.fetch import (
    Fetched,
    LogTruncatedError,
    TopicGoneError,
    fetch_range,
)
from kafka_protocol.records.record import decode_records
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.fakes.reading import read, write
from tests.integration.clients import SOON_MS, connect, soon
from tests.integration.conftest import MakeTopic

pytestmark = pytest.mark.integration


def rest_of(range_: Iterator[Fetched]) -> list[bytes | None]:
    return [
        r.value for fetched in range_ for batch in fetched.batches for r in decode_records(batch)
    ]


@pytest.fixture
def impatient(kafka_cluster: KafkaCluster) -> Iterator[Cluster]:
    """A client that takes a topic as deleted after 500 ms."""
    options = {"topic_metadata_propagation_max_ms": "500", "max_partition_fetch_bytes": "1"}
    client = connect(kafka_cluster, **options)
    yield client
    client.close()


def test_fault_23_a_topic_is_deleted_under_a_read(
    cluster: Cluster, impatient: Cluster, make_topic: MakeTopic
) -> None:
    partition = TopicPartition(make_topic(), 0)
    for value in (b"a", b"b", b"c", b"d"):
        write(cluster, value, topic_partition=partition)
    range_ = fetch_range(impatient, OffsetRange(partition, 0, 4), 60_000)
    assert next(range_).batches
    delete_topic(cluster, partition.topic, soon())
    with pytest.raises(TopicGoneError, match="is unknown to ") as caught:
        rest_of(range_)
    assert caught.value.topic_partition == partition
    assert caught.value.offset in (1, 2)


def test_fault_23_every_broker_lacks_a_deleted_topic(
    kafka_cluster: KafkaCluster, cluster: Cluster, make_topic: MakeTopic
) -> None:
    """The topic's id was known, so the propagation time-out does not have to pass."""
    partition = TopicPartition(make_topic(), 0)
    write(cluster, b"a", b"b", topic_partition=partition)
    planned = topic_id(cluster, partition.topic)
    options = {"topic_metadata_propagation_max_ms": "600000"}
    with closing(connect(kafka_cluster, **options)) as patient:
        delete_topic(cluster, partition.topic, soon())
        with pytest.raises(TopicGoneError, match="is unknown to every broker"):
            read(patient, 0, 2, topic_partition=partition, topic_id=planned)


def topic_id(client: Cluster, topic: str) -> uuid.UUID:
    return client.settled_topics([topic], soon())[topic].topic_id


def test_fault_24_a_topic_is_recreated_between_plan_and_read(
    cluster: Cluster, make_topic: MakeTopic
) -> None:
    """Found at once by the topic id: the propagation time-out of 30 s does not pass."""
    partition = TopicPartition(make_topic(), 0)
    write(cluster, b"a", b"b", topic_partition=partition)
    planned = topic_id(cluster, partition.topic)
    assert read(cluster, 0, 2, topic_partition=partition, topic_id=planned)
    delete_topic(cluster, partition.topic, soon())
    create_topic(cluster, NewTopic(partition.topic), soon())
    write(cluster, b"x", b"y", topic_partition=partition)
    with pytest.raises(TopicGoneError, match="re-created") as caught:
        read(cluster, 0, 2, topic_partition=partition, topic_id=planned)
    assert caught.value.offset == 0
    created = topic_id(cluster, partition.topic)
    found = read(cluster, 0, 2, topic_partition=partition, topic_id=created)
    assert found == [(0, b"x"), (1, b"y")]


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
