"""Read and write single values of a partition, with a client of a fake cluster."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from types import MappingProxyType
from typing import Any

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_protocol.records.record import decode_records
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from tests.fakes.cluster import NEWEST, FakeCluster
from tests.fakes.log import batch_of

PARTITION = TopicPartition("t", 0)
ABC = [(0, b"a"), (1, b"b"), (2, b"c")]  # the records of three batches
IN_THREE = ((b"a",), (b"b",), (b"c",))


@contextmanager
def one_partition(
    *batches: tuple[bytes, ...],
    nodes: int = 1,
    release: str = NEWEST,
    racks: Mapping[int, str] = MappingProxyType({}),
    **options: Any,
) -> Iterator[tuple[FakeCluster, Cluster]]:
    """A cluster with the partition t-0 and these batches, and a client."""
    with FakeCluster(nodes, release, racks=racks) as cluster:
        cluster.add_topic("t")
        for values in batches:
            cluster.append(PARTITION, *values)
        with closing(cluster.client(**options)) as client:
            yield cluster, client


def read(
    client: Cluster,
    start: int,
    until: int,
    *,
    idle_ms: int = 5_000,
    topic_partition: TopicPartition = PARTITION,
    topic_id: uuid.UUID | None = None,
) -> list[tuple[int, bytes | None]]:
    """Offset and value of the records of a range."""
    records: list[tuple[int, bytes | None]] = []
    wanted = OffsetRange(topic_partition, start, until)
    for window, batches in fetch_range(client, wanted, idle_ms, topic_id):
        assert batches
        records += [
            (record.offset, record.value)
            for batch in batches
            if not batch.header.is_control
            for record in decode_records(batch)
            if window.from_offset <= record.offset < window.until_offset
        ]
    return records


def offset_of(client: Cluster, position: int = LATEST_TIMESTAMP) -> int:
    """The offset of a position in the partition."""
    return list_offsets(client, {PARTITION: position}, Deadline.after(5_000))[PARTITION]


def read_all(client: Cluster) -> list[tuple[int, bytes | None]]:
    """Metadata, the latest offset, and all records before it, as in a query."""
    return read(client, 0, offset_of(client))


def write(client: Cluster, *values: bytes, topic_partition: TopicPartition = PARTITION) -> None:
    """Write one batch with these values, and wait for the acknowledgement."""
    producer = Producer(client)
    producer.add(topic_partition, batch_of(*values))
    producer.flush()
