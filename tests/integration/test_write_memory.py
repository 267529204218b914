"""The memory of a writing task depends on what waits to be sent, not on how much it writes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP
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
