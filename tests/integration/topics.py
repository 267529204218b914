"""Topics of real brokers: fill them with batches, add partitions, delete their records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.encode import RecordColumns, encode_batches
from kafka_protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from kafka_protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing.waiting import Deadline
from tests.fakes.batch_reading import Rows
from tests.fakes.reading import write
from tests.integration.clients import SOON_MS, soon

NOW = 1_760_000_000_000


def numbered(count: int) -> list[bytes]:
    """Values that differ."""
    return [b"value %d" % number for number in range(count)]


def write_batches(
    cluster: Cluster,
    topic_partition: TopicPartition,
    values: list[bytes],
    codec: CompressionCodec = CompressionCodec.NONE,
    batch_bytes: int = 1_000_000,
) -> None:
    """Write values without keys in batches of at most `batch_bytes`; record n is n ms after NOW."""
    records = RecordColumns(
        pa.nulls(len(values), pa.binary()),
        pa.array(values, pa.binary()),
        np.arange(len(values), dtype=np.int64) + NOW,
    )
    producer = Producer(cluster)
    for batch in encode_batches(records, codec, batch_bytes):
        producer.add(topic_partition, batch.data)
    producer.flush()


def fill(cluster: Cluster, topic: str, count: int, name: str = "") -> Rows:
    """Write one batch for each record; return what a read of an empty log finds then."""
    values = [f"{name}{number}".encode() for number in range(count)]
    for value in values:
        write(cluster, value, topic_partition=TopicPartition(topic, 0))
    return [*enumerate(values)]


def delete_records(cluster: Cluster, topic: str, before: int) -> None:
    """Move the log start offset of partition 0, as retention does."""
    Topic = DeleteRecordsRequest.DeleteRecordsTopic
    partition = Topic.DeleteRecordsPartition(partition_index=0, offset=before)
    request = DeleteRecordsRequest(
        topics=[Topic(name=topic, partitions=[partition])], timeout_ms=SOON_MS
    )
    leader, _ = cluster.leader(TopicPartition(topic, 0), soon())
    broker = cluster.broker(leader.node_id, soon())
    response = broker.request(request, DeleteRecordsResponse, soon())
    (deleted,) = response.topics[0].partitions
    assert (deleted.error_code, deleted.low_watermark) == (0, before)


def add_partitions(cluster: Cluster, topic: str, count: int) -> None:
    """Increase the number of partitions to `count`, and wait until brokers list all of them."""
    Topic = CreatePartitionsRequest.CreatePartitionsTopic
    request = CreatePartitionsRequest(
        topics=[Topic(name=topic, count=count, assignments=None)], timeout_ms=SOON_MS
    )
    controller = cluster.controller(CreatePartitionsRequest, soon())
    response = controller.request(request, CreatePartitionsResponse, soon())
    assert [result.error_code for result in response.results] == [0], response
    assert Deadline(SOON_MS / 1_000).wait_for(
        lambda: len(cluster.settled_topics([topic], soon())[topic].partitions) == count
    ), "brokers do not list the new partitions"
