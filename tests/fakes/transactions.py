"""Transactions of a client on a fake cluster with the topic `t`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transactions import Transaction, begin
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes.cluster import NEWEST, FakeCluster
from tests.fakes.log import batch_of
from tests.fakes.reading import PARTITION, read


def soon() -> Deadline:
    return Deadline.after(5_000)


@contextmanager
def transactional(
    nodes: int = 1, partitions: int = 1, release: str = NEWEST, **options: Any
) -> Iterator[tuple[FakeCluster, Cluster]]:
    """A cluster with the topic `t`, and a client with read_committed."""
    with FakeCluster(nodes, release) as cluster:
        cluster.add_topic("t", partitions)
        with closing(cluster.client(**({"isolation_level": "read_committed"} | options))) as client:
            yield cluster, client


def committed_values(client: Cluster, topic_partition: TopicPartition = PARTITION) -> list[bytes]:
    """The values of the committed records up to the last stable offset."""
    positions = {topic_partition: LATEST_TIMESTAMP}
    until = list_offsets(client, positions, soon())[topic_partition]
    if not until:
        return []
    return [value or b"" for _, value in read(client, 0, until, topic_partition=topic_partition)]


def write_in(
    client: Cluster,
    transaction: Transaction,
    *values: bytes,
    topic_partition: TopicPartition = PARTITION,
) -> Producer:
    """Write a batch for each value, and wait for the acknowledgements."""
    producer = Producer(client, transaction)
    for value in values:
        producer.add(topic_partition, batch_of(value))
    producer.flush()
    return producer


def opened(client: Cluster, *values: bytes, name: str = "a") -> Transaction:
    """An open transaction with these values."""
    transaction = begin(client, name, soon())
    write_in(client, transaction, *values)
    return transaction
