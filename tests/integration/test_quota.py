"""A quota on a real broker: reads get slower, and stay complete."""

from __future__ import annotations

import logging

import pytest

from kafka_protocol.client.broker import broker
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.fakes.reading import read, write
from tests.integration.conftest import SOON_MS, MakeTopic, connect

pytestmark = [pytest.mark.integration, pytest.mark.slow]

COUNT = 12
VALUE = bytes(10_000)
# Quotas are rates over ten seconds, so the first 100 kB are free.
BYTES_PER_SECOND = 10_000.0


def limit(cluster: Cluster, client_id: str) -> None:
    soon = Deadline.after(SOON_MS)
    Entry = AlterClientQuotasRequest.EntryData
    entry = Entry(
        entity=[Entry.EntityData(entity_type="client-id", entity_name=client_id)],
        ops=[Entry.OpData(key="consumer_byte_rate", value=BYTES_PER_SECOND)],
    )
    request = AlterClientQuotasRequest(entries=[entry])
    controller = cluster.controller(AlterClientQuotasRequest, soon)
    answer = controller.request(request, AlterClientQuotasResponse, soon)
    assert [entry.error_code for entry in answer.entries] == [0]


def test_fault_41_a_quota_makes_a_read_slower_and_leaves_nothing_out(
    kafka_cluster: KafkaCluster,
    cluster: Cluster,
    make_topic: MakeTopic,
    caplog: pytest.LogCaptureFixture,
) -> None:
    partition = TopicPartition(make_topic(), 0)
    for _ in range(COUNT):
        write(cluster, VALUE, topic_partition=partition)
    limit(cluster, "limited")
    client = connect(kafka_cluster, client_id="limited", max_partition_fetch_bytes="20000")
    try:
        with caplog.at_level(logging.DEBUG, broker.__name__):
            found = read(client, 0, COUNT, idle_ms=SOON_MS, topic_partition=partition)
    finally:
        client.close()
    assert [offset for offset, _ in found] == [*range(COUNT)]
    assert any("throttles this client" in record.getMessage() for record in caplog.records)
