"""Reads from the closest replica (KIP-392), with three real brokers in three racks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from kafka_protocol.client.broker.broker import Broker, SentRequest
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.fakes.reading import write
from tests.integration.clients import SOON_MS, connect, soon

pytestmark = [pytest.mark.integration, pytest.mark.slow]

COUNT = 40
VALUE = bytes(2_000)


@pytest.fixture(scope="module")
def racks() -> Iterator[KafkaCluster]:
    """Three brokers; broker n is in `rack-n`."""
    config = {
        "broker.rack": "rack-{node_id}",
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    }
    with KafkaCluster(nodes=3, config=config) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def partition(racks: KafkaCluster) -> TopicPartition:
    """Forty batches, with a replica on each broker."""
    with closing(connect(racks)) as client:
        create_topic(client, NewTopic("racks", replication_factor=3), soon())
        partition = TopicPartition("racks", 0)
        for _ in range(COUNT):
            write(client, VALUE, topic_partition=partition)
    return partition


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Counter[int | None]:
    """Bytes of records received from each broker, by node id."""
    found: Counter[int | None] = Counter()
    receive = Broker.receive

    def counting(self: Broker, sent: SentRequest, kind: type[Any], deadline: Deadline) -> Any:
        response = receive(self, sent, kind, deadline)
        if isinstance(response, FetchResponse):
            found[self.node_id] += sum(
                len(data.records or b"")
                for topic in response.responses
                for data in topic.partitions
            )
        return response

    # Nothing else tells which broker the bytes of a read came from.
    monkeypatch.setattr(Broker, "receive", counting)
    return found


def leader_of(client: Cluster, partition: TopicPartition) -> int:
    return client.leader(partition, soon())[0].node_id


def batches_of(client: Cluster, partition: TopicPartition) -> Iterator[int]:
    """The base offset of each batch, which is the offset of its only record."""
    for fetched in fetch_range(client, OffsetRange(partition, 0, COUNT), SOON_MS):
        for batch in fetched.batches:
            yield batch.header.base_offset


@pytest.mark.parametrize("distance", [0, 1, 2])
def test_the_bytes_come_from_the_broker_of_the_rack(
    racks: KafkaCluster, partition: TopicPartition, served: Counter[int | None], distance: int
) -> None:
    finder = connect(racks)
    leader = leader_of(finder, partition)
    finder.close()
    here = (leader - 1 + distance) % 3 + 1
    client = connect(racks, client_rack=f"rack-{here}", max_partition_fetch_bytes="5000")
    deadline = soon()
    with closing(client):
        # A replica lags for a moment after a restart or a new record.
        while served[here] < COUNT * len(VALUE) or sum(served.values()) > served[here]:
            assert not deadline.has_passed, served
            served.clear()
            assert [*batches_of(client, partition)] == [*range(COUNT)]


@pytest.mark.parametrize("rack", ["", "rack-without-brokers"])
def test_without_a_replica_in_the_rack_the_leader_serves(
    racks: KafkaCluster, partition: TopicPartition, served: Counter[int | None], rack: str
) -> None:
    with closing(connect(racks, client_rack=rack)) as client:
        assert [*batches_of(client, partition)] == [*range(COUNT)]
        assert sum(served.values()) == served[leader_of(client, partition)]


def test_fault_21_the_closest_replica_dies_under_the_read(
    racks: KafkaCluster, partition: TopicPartition, served: Counter[int | None]
) -> None:
    finder = connect(racks)
    leader = leader_of(finder, partition)
    finder.close()
    here = leader % 3 + 1
    client = connect(racks, client_rack=f"rack-{here}", max_partition_fetch_bytes="5000")
    try:
        offsets = batches_of(client, partition)
        found = [next(offsets)]
        racks.kill(here)
        found += offsets
    finally:
        client.close()
        racks.start_node(here)
    assert found == [*range(COUNT)]
    assert served[here] > 0
    assert served[leader] > 0
