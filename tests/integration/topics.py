"""Topics of real brokers: fill them with batches, add partitions, delete their records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from tests.admin import Admin
from tests.fakes.batch_reading import Rows
from tests.fakes.reading import write

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
    _admin(cluster).delete_records(topic, {0: before})


def add_partitions(cluster: Cluster, topic: str, count: int) -> None:
    """Increase the number of partitions to `count`, and wait until the broker lists all of them."""
    _admin(cluster).add_partitions(topic, count)


def _admin(cluster: Cluster) -> Admin:
    return Admin(",".join(map(str, cluster.config.bootstrap_servers)), replicas=1)
