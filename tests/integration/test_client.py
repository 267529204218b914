"""Offsets, fetch and produce against real brokers, with leaders that move and brokers that die."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic, delete_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.fetch import OffsetOutOfRangeError, fetch_range
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.pool import close_shared_clusters, shared_cluster
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.decode import decode_batches
from kafka_protocol.columnar.encode import RecordColumns, encode_batches
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, MAX_TIMESTAMP
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.integration.clients import SOON_MS, connect, soon
from tests.integration.conftest import MakeTopic
from tests.integration.topics import NOW, numbered, write_batches

pytestmark = pytest.mark.integration


def read(cluster: Cluster, wanted: OffsetRange, idle_ms: int = SOON_MS) -> list[tuple[int, bytes]]:
    return [
        (row["offset"], row["value"])
        for window, batches in fetch_range(cluster, wanted, idle_ms)
        for arrow in decode_batches([(window, batches)], ["offset", "value"])
        for row in arrow.to_pylist()
    ]


@pytest.mark.parametrize("codec", CompressionCodec, ids=lambda codec: codec.name.lower())
@pytest.mark.parametrize(
    "edges",
    [(0, 5_000), (1, 4_999), (2_345, 2_346), (700, 4_000)],
    ids=["all", "all but two", "one", "in the middle"],
)
def test_a_range_comes_back_exactly(
    cluster: Cluster, make_topic: MakeTopic, codec: CompressionCodec, edges: tuple[int, int]
) -> None:
    partition = TopicPartition(make_topic(), 0)
    values = numbered(5_000)
    write_batches(cluster, partition, values, codec, batch_bytes=20_000)
    start, stop = edges
    assert read(cluster, OffsetRange(partition, start, stop)) == [
        *enumerate(values[start:stop], start)
    ]


def test_many_small_fetches(kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> None:
    """A batch larger than max.partition.fetch.bytes is returned whole (KIP-74)."""
    with closing(connect(kafka_cluster, max_partition_fetch_bytes="1000")) as client:
        partition = TopicPartition(make_topic(), 0)
        write_batches(client, partition, numbered(3_000), batch_bytes=3_000)
        assert read(client, OffsetRange(partition, 0, 3_000)) == [*enumerate(numbered(3_000))]


def test_an_empty_range_sends_no_request(cluster: Cluster) -> None:
    assert read(cluster, OffsetRange(TopicPartition("no such topic", 0), 5, 5)) == []


def test_abandoned_range_leaves_a_usable_client(cluster: Cluster, make_topic: MakeTopic) -> None:
    partition = TopicPartition(make_topic(), 0)
    write_batches(cluster, partition, numbered(3_000), batch_bytes=3_000)
    half_read = fetch_range(cluster, OffsetRange(partition, 0, 3_000), SOON_MS)
    next(half_read)
    half_read.close()  # type: ignore[attr-defined]
    assert len(read(cluster, OffsetRange(partition, 0, 3_000))) == 3_000


def test_fault_28_offset_beyond_the_log(cluster: Cluster, make_topic: MakeTopic) -> None:
    partition = TopicPartition(make_topic(), 0)
    write_batches(cluster, partition, numbered(10))
    with pytest.raises(OffsetOutOfRangeError, match=r"offset 12 of .*holds \[0, 10\)"):
        read(cluster, OffsetRange(partition, 12, 20))


def test_end_that_is_never_written_is_out_of_range(cluster: Cluster, make_topic: MakeTopic) -> None:
    partition = TopicPartition(make_topic(), 0)
    write_batches(cluster, partition, numbered(10))
    with pytest.raises(OffsetOutOfRangeError, match=r"offset 10 of .*holds \[0, 10\)"):
        read(cluster, OffsetRange(partition, 5, 20), idle_ms=700)


def test_list_offsets(cluster: Cluster, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    write_batches(cluster, TopicPartition(topic, 1), numbered(7))
    partitions = [TopicPartition(topic, number) for number in range(3)]
    found = {
        position: [
            list_offsets(cluster, dict.fromkeys(partitions, position), soon())[tp]
            for tp in partitions
        ]
        for position in (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, MAX_TIMESTAMP, NOW + 5, NOW + 99)
    }
    assert found == {
        EARLIEST_TIMESTAMP: [0, 0, 0],
        LATEST_TIMESTAMP: [0, 7, 0],
        MAX_TIMESTAMP: [-1, 6, -1],
        NOW + 5: [-1, 5, -1],
        NOW + 99: [-1, -1, -1],
    }


def test_list_offsets_of_a_missing_topic(cluster: Cluster) -> None:
    missing = {TopicPartition("no-such-topic", 0): LATEST_TIMESTAMP}
    with pytest.raises(BrokerError, match="Metadata of no-such-topic-0"):
        list_offsets(cluster, missing, Deadline.after(1_000))


def test_a_refused_batch_has_the_brokers_message(cluster: Cluster, make_topic: MakeTopic) -> None:
    topic = make_topic(cleanup_policy="compact")
    with pytest.raises(BrokerError) as caught:
        write_batches(cluster, TopicPartition(topic, 0), [b"without a key"])
    assert caught.value.error is ErrorCode.INVALID_RECORD
    assert f"Produce to {topic}-0 on broker 1" in str(caught.value)
    assert "Compacted topic cannot accept message without key" in str(caught.value)


def test_batch_too_large(cluster: Cluster, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes="1000")
    with pytest.raises(BrokerError, match=r"MESSAGE_TOO_LARGE.*max\.message\.bytes"):
        write_batches(cluster, TopicPartition(topic, 0), [bytes(2_000)])


def test_topics_are_created_and_deleted(cluster: Cluster) -> None:
    create_topic(cluster, NewTopic("short-lived", partitions=2), soon())
    assert len(cluster.topics(["short-lived"], soon())["short-lived"].partitions) == 2
    with pytest.raises(BrokerError, match="TOPIC_ALREADY_EXISTS"):
        create_topic(cluster, NewTopic("short-lived"), soon())
    delete_topic(cluster, "short-lived", soon())
    with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        delete_topic(cluster, "short-lived", Deadline.after(500))


def test_shared_clusters_are_kept(kafka_cluster: KafkaCluster) -> None:
    config = ClientConfig.from_options({"bootstrap.servers": kafka_cluster.bootstrap_servers})
    first = shared_cluster(config)
    assert shared_cluster(config) is first
    close_shared_clusters()
    assert shared_cluster(config) is not first
    close_shared_clusters()


@pytest.mark.slow
def test_fault_18_and_19_leader_dies_while_reading_and_writing(three_brokers: KafkaCluster) -> None:
    """Clients go on at the new leader: no record is lost, and none is read twice."""
    client = connect(three_brokers, max_partition_fetch_bytes="10000")
    deadline = Deadline.after(2 * SOON_MS)
    create_topic(client, NewTopic("moving", replication_factor=3), deadline)
    partition = TopicPartition("moving", 0)
    values = numbered(20_000)
    write_batches(client, partition, values, batch_bytes=5_000)

    rows: list[Any] = []
    wanted = OffsetRange(partition, 0, len(values))
    for window, batches in fetch_range(client, wanted, 2 * SOON_MS):
        if not rows:
            leader, _ = client.leader(partition, deadline)
            three_brokers.kill(leader.node_id)
        for arrow in decode_batches([(window, batches)], ["offset", "value"]):
            rows += arrow.to_pylist()
    assert [(row["offset"], row["value"]) for row in rows] == [*enumerate(values)]

    write_batches(client, partition, [b"after"])
    assert read(client, OffsetRange(partition, 20_000, 20_001)) == [(20_000, b"after")]
    client.close()


def test_requests_to_many_leaders(three_brokers: KafkaCluster) -> None:
    client = connect(three_brokers)
    deadline = Deadline.after(2 * SOON_MS)
    create_topic(client, NewTopic("spread", partitions=9, replication_factor=2), deadline)
    leaders = {
        leader.node_id
        for leader in client.topics(["spread"], deadline)["spread"].partitions.values()
    }
    assert len(leaders) > 1
    producer = Producer(client)
    for number in range(9):
        records = RecordColumns(
            pa.nulls(number, pa.binary()),
            pa.array(numbered(number), pa.binary()),
            np.full(number, NOW, dtype=np.int64),
        )
        for batch in encode_batches(records, CompressionCodec.ZSTD):
            producer.add(TopicPartition("spread", number), batch.data)
    producer.flush()
    ends = {TopicPartition("spread", number): LATEST_TIMESTAMP for number in range(9)}
    assert list_offsets(client, ends, deadline) == {tp: tp.partition for tp in ends}
    client.close()
