"""The topics of the Spark benchmarks: created, filled, and deleted afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from benchmarks.ceiling import HEADER_TYPE, HEADERS
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.admin import NewTopic, create_topic, delete_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.writing.encode import EncodedBatch, RecordColumns, encode_batches
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition

PARTITIONS = 4
# Below the default max.message.bytes of brokers.
MAX_BATCH_BYTES = 900_000
MAX_BATCH_ROWS = 1_000_000
LONG_MS = 600_000
# Brokers delete a topic's files after this time. Most are then never written to the disk.
DELETION: Final = {"file.delete.delay.ms": "100"}
# A controller refuses 10,000 partitions in one request.
MOST_AT_ONCE = 5_000


class Topic(NamedTuple):
    """A filled topic and its bootstrap servers."""

    servers: str
    name: str
    rows: int


def rows_of(count: int, value_bytes: int, *, headers: bool = False) -> RecordColumns:
    """Rows whose values compress about as well as JSON: one half is random."""
    half = value_bytes // 2
    noise = np.random.default_rng(1).integers(0, 256, (count, half), dtype=np.uint8)
    same = b"x" * (value_bytes - half)
    return RecordColumns(
        pa.array([b"key %d" % (number % 1000) for number in range(count)], pa.binary()),
        pa.array([row.tobytes() + same for row in noise], pa.binary()),
        np.full(count, 1_760_000_000_000, dtype=np.int64),
        pa.array([HEADERS] * count, HEADER_TYPE) if headers else None,
    )


@contextmanager
def new_topic(servers: str, name: str, partitions: int = PARTITIONS) -> Iterator[Producer]:
    """Create an empty topic, yield a producer for it, and delete the topic afterwards."""
    cluster = Cluster(ClientConfig.from_options({"bootstrap.servers": servers}))
    topic = NewTopic(name, min(partitions, MOST_AT_ONCE), configs=DELETION)
    create_topic(cluster, topic, Deadline.after(LONG_MS))
    for total in range(2 * MOST_AT_ONCE, partitions + MOST_AT_ONCE, MOST_AT_ONCE):
        admin = AdminClient({"bootstrap.servers": servers})
        (added,) = admin.create_partitions([NewPartitions(name, min(total, partitions))]).values()
        added.result(LONG_MS / 1000)
    wait_for_leaders(cluster, name, partitions)
    yield Producer(cluster)
    delete_topic(cluster, name, Deadline.after(LONG_MS))
    cluster.close()


def wait_for_leaders(cluster: Cluster, topic: str, partitions: int) -> None:
    """Wait until each partition has a leader that responds: 10,000 need more than a minute."""
    positions = {TopicPartition(topic, number): LATEST_TIMESTAMP for number in range(partitions)}
    deadline = Deadline.after(LONG_MS)
    Retry(cluster.config, deadline, LONG_MS).until_done(
        lambda: list_offsets(cluster, positions, deadline)
    )


def batches_of(
    rows: RecordColumns, codec: CompressionCodec, batch_bytes: int, batch_rows: int
) -> Iterator[EncodedBatch]:
    """Encode the rows in batches of a limited size."""
    for first in range(0, len(rows.value), batch_rows):
        yield from encode_batches(sliced(rows, first, batch_rows), codec, batch_bytes)


def sliced(rows: RecordColumns, first: int, count: int) -> RecordColumns:
    """Some rows, from the given one on."""
    headers = rows.headers.slice(first, count) if rows.headers is not None else None
    return RecordColumns(
        rows.key.slice(first, count),
        rows.value.slice(first, count),
        rows.timestamp[first : first + count],
        headers,
    )


@contextmanager
def filled_topic(  # noqa: PLR0913 - a topic's settings
    servers: str,
    name: str,
    rows: RecordColumns,
    codec: str = "none",
    *,
    batch_bytes: int = MAX_BATCH_BYTES,
    batch_rows: int = MAX_BATCH_ROWS,
    partitions: int = PARTITIONS,
) -> Iterator[Topic]:
    """Create a topic with these rows in each of its partitions, and delete it afterwards.

    Batches have as many bytes before compression, or as many rows, as are given at the most.
    """
    with new_topic(servers, name, partitions) as producer:
        for batch in batches_of(rows, CompressionCodec[codec.upper()], batch_bytes, batch_rows):
            data = batch.data
            for number in range(partitions):
                producer.add(TopicPartition(name, number), data)
                if producer.pending_bytes > 16_000_000:
                    producer.flush()
        producer.flush()
        yield Topic(servers, name, len(rows.value) * partitions)
