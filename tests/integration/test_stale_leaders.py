"""A real leader that stands still for longer than its lease, and then is asked for `latest`."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.messages.list_offsets import (
    LATEST_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.integration.clients import connect, soon
from tests.witness import produce

pytestmark = pytest.mark.integration

Asked = ListOffsetsRequest.ListOffsetsTopic
CLIENTS = 6
# An old leader gives a wrong end in about half of such rounds.
MOST_ROUNDS = 8
RECORDS = 5
# So that no client gives up, or asks another broker, while the leader stands still.
PATIENT = {"request_timeout_ms": "60000", "metadata_max_age_ms": "3600000"}


@pytest.fixture
def clients(three_brokers: KafkaCluster) -> Iterator[list[Cluster]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(closing(connect(three_brokers, **PATIENT))) for _ in range(CLIENTS)
        ]


def raw_end(client: Cluster, partition: TopicPartition, node_id: int) -> int:
    """What one broker gives as the end, without any check of ours; -1 after an error."""
    position = Asked.ListOffsetsPartition(
        partition_index=partition.partition, timestamp=LATEST_TIMESTAMP
    )
    request = ListOffsetsRequest(
        replica_id=-1, topics=[Asked(name=partition.topic, partitions=[position])]
    )
    broker = client.broker(node_id, soon())
    response = broker.request(request, ListOffsetsResponse, soon())
    return response.topics[0].partitions[0].offset


def leader_of(client: Cluster, partition: TopicPartition) -> int:
    return client.leader(partition, soon())[0].node_id


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_end_is_too_low_when_a_paused_leader_goes_on(
    three_brokers: KafkaCluster, clients: list[Cluster]
) -> None:
    """Half of the clients ask as we do, half send the bare request: some of these are wrong."""
    servers = three_brokers.bootstrap_servers
    partition = TopicPartition("stood-still", 0)
    create_topic(clients[0], NewTopic(partition.topic, 1, 3), soon())
    produce(servers, partition.topic, [b"first"] * RECORDS)
    ours, raw = clients[::2], clients[1::2]
    too_low = 0
    with ThreadPoolExecutor(CLIENTS) as threads:
        for number in range(MOST_ROUNDS):
            for client in clients:
                client.forget(partition.topic)
                list_offsets(client, {partition: LATEST_TIMESTAMP}, soon())
            old = leader_of(clients[0], partition)
            three_brokers.pause(old)
            try:
                asked = [
                    threads.submit(list_offsets, client, {partition: LATEST_TIMESTAMP}, soon())
                    for client in ours
                ]
                bare = [threads.submit(raw_end, client, partition, old) for client in raw]
                produce(servers, partition.topic, [b"more"] * RECORDS)
            finally:
                three_brokers.resume(old)
            end = RECORDS * (number + 2)
            assert [each.result()[partition] for each in asked] == [end] * len(ours)
            too_low += sum(0 <= each.result() < end for each in bare)
            if too_low:
                break
    assert too_low, "the old leader gave no wrong end; nothing was tried"
