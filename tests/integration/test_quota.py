"""A quota on a real broker makes a read slower, and the read stays complete."""

from __future__ import annotations

import logging
from contextlib import closing

import pytest

from kafka_protocol.client.broker import broker
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.fakes.reading import read, write
from tests.integration.access import limit_rate
from tests.integration.clients import SOON_MS, connect
from tests.integration.conftest import MakeTopic

pytestmark = [pytest.mark.integration, pytest.mark.slow]

COUNT = 12
VALUE = bytes(10_000)
# This broker measures rates over ten seconds, so the first 100 kB are free.
BYTES_PER_SECOND = 10_000.0


def test_fault_41_a_quota_delays_a_read_and_loses_nothing(
    kafka_cluster: KafkaCluster,
    cluster: Cluster,
    make_topic: MakeTopic,
    caplog: pytest.LogCaptureFixture,
) -> None:
    partition = TopicPartition(make_topic(), 0)
    for _ in range(COUNT):
        write(cluster, VALUE, topic_partition=partition)
    limit_rate(cluster, "limited", "consumer_byte_rate", BYTES_PER_SECOND)
    with closing(
        connect(kafka_cluster, client_id="limited", max_partition_fetch_bytes="20000")
    ) as client:
        with caplog.at_level(logging.DEBUG, broker.__name__):
            found = read(client, 0, COUNT, idle_ms=SOON_MS, topic_partition=partition)
    assert [offset for offset, _ in found] == [*range(COUNT)]
    assert any("throttles this client" in record.getMessage() for record in caplog.records)
