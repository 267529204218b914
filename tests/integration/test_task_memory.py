"""The memory of a reading task depends on the size of a fetch, not on how much it reads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.integration.clients import soon
from tests.integration.conftest import MakeTopic
from tests.own_process import run_module

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc"),
]

MB = 1_000_000
LIMIT_BYTES = 130 * MB
TOTAL_BYTES = 136 * MB  # more than the limit
BLOCK_BYTES = 8 * MB
NONE, ZSTD = CompressionCodec.NONE, CompressionCodec.ZSTD


class Records(NamedTuple):
    """The records of a topic.

    Attributes:
        values: One block, which is repeated up to TOTAL_BYTES.
        codec: How they are compressed.
        batch_bytes: How large a batch may be before it is compressed.
    """

    values: pa.Array
    codec: CompressionCodec
    batch_bytes: int = 1 * MB


def values_of(*sizes: int) -> pa.Array:
    """Half random and half constant bytes: they compress about as well as JSON."""
    random = np.random.default_rng(1)
    halves = (size // 2 for size in sizes)
    return pa.array([random.bytes(half) + b"x" * half for half in halves], pa.binary())


def topics() -> list[Records]:
    small = values_of(*[100] * (BLOCK_BYTES // 100))
    large = values_of(*[MB] * (BLOCK_BYTES // MB))
    one_large = values_of(*[100] * 30_000, 5 * MB)
    # Brokers count compressed bytes: one Fetch response could hold a gigabyte of these.
    all_the_same = pa.array([b"x" * 100] * (BLOCK_BYTES // 100), pa.binary())
    by_codec = [
        Records(values, codec) for values in (small, large, one_large) for codec in (NONE, ZSTD)
    ]
    return [*by_codec, Records(all_the_same, ZSTD, BLOCK_BYTES)]


@pytest.fixture
def fill(cluster: Cluster, make_topic: MakeTopic) -> Callable[[Records], tuple[str, int]]:
    """Makes a topic; returns its name and how many records it holds."""

    def produce(records: Records) -> tuple[str, int]:
        topic = make_topic(max_message_bytes=str(10 * MB))
        count = len(records.values)
        times = np.full(count, 1_760_000_000_000, dtype=np.int64)
        columns = RecordColumns(pa.nulls(count, pa.binary()), records.values, times)
        batches = [*encode_batches(columns, records.codec, records.batch_bytes)]
        blocks = TOTAL_BYTES // records.values.nbytes
        producer = Producer(cluster)
        for _ in range(blocks):
            for batch in batches:
                producer.add(TopicPartition(topic, 0), batch.data)
            producer.flush()
        return topic, blocks * count

    return produce


def test_a_task_stays_small(
    tmp_path: Path, kafka_cluster: KafkaCluster, fill: Callable[[Records], tuple[str, int]]
) -> None:
    names, counts = zip(*map(fill, topics()), strict=True)
    servers = kafka_cluster.bootstrap_servers
    found = run_module(tmp_path, "tests.jobs.task_memory", servers, *names)
    rows, grown_bytes = zip(*found, strict=True)
    assert rows == counts
    assert 0 < max(grown_bytes) < LIMIT_BYTES, grown_bytes


# --- The memory of a writing task depends on what waits to be sent, not on how much it writes -----


PARTITIONS = 4


# Rows, and bytes of each value: more in all than the limit.
@pytest.mark.parametrize(
    ("rows", "size"), [(150_000, 1_000), pytest.param(4_000_000, 100, marks=pytest.mark.slow)]
)
def test_a_writing_task_stays_small(
    tmp_path: Path,
    kafka_cluster: KafkaCluster,
    cluster: Cluster,
    make_topic: MakeTopic,
    rows: int,
    size: int,
) -> None:
    """All rows are written by one task."""
    topic = make_topic(PARTITIONS)
    servers = kafka_cluster.bootstrap_servers
    grown_bytes = run_module(
        tmp_path, "tests.jobs.write_memory", servers, topic, str(rows), str(size)
    )
    ends = {TopicPartition(topic, number): LATEST_TIMESTAMP for number in range(PARTITIONS)}
    assert sum(list_offsets(cluster, ends, soon()).values()) == rows
    assert 0 < grown_bytes < LIMIT_BYTES
