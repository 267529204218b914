"""What a reused worker keeps for its next task: few configurations, and no idle connections."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import close_shared_clusters, shared_cluster, shared_producer
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import batch_of
from tests.fakes.skipping_time import sleeps_take_no_time

SOON_MS = 5_000
T0 = TopicPartition("t", 0)
MAX_IDLE_SECONDS = 540  # the default of Java and of kafka.connections.max.idle.ms
# Connections of one configuration to one broker: the bootstrap server, and the broker by its id.
BOTH = 2


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.add_topic("t")
        yield cluster
        close_shared_clusters()


def configs(fake: FakeCluster, count: int) -> list[ClientConfig]:
    """Configurations that differ in their client id."""
    config = ClientConfig(bootstrap_servers=fake.bootstrap_servers)
    return [replace(config, client_id=f"query-{number}") for number in range(count)]


def read(config: ClientConfig) -> None:
    """Use the connections of a configuration, as a task does."""
    cluster, soon = shared_cluster(config), Deadline.after(SOON_MS)
    cluster.leader(T0, soon)
    cluster.broker(1, soon)


def write(config: ClientConfig) -> None:
    with shared_producer(config) as producer:
        producer.add(T0, batch_of(b"x"))


def test_few_configurations_stay_connected(fake: FakeCluster) -> None:
    for config in configs(fake, 40):
        read(config)
    fake.nodes[1].broker.wait_for_open_connections(16 * BOTH)


def test_the_configurations_used_last_are_kept(fake: FakeCluster) -> None:
    first, *others = configs(fake, 40)
    cluster = shared_cluster(first)
    for other in others:
        read(other)
        assert shared_cluster(first) is cluster
    before = fake.nodes[1].broker.connections
    for other in others[-15:]:
        read(other)
    assert fake.nodes[1].broker.connections == before


def test_a_cluster_in_use_is_never_closed(fake: FakeCluster) -> None:
    config, *others = configs(fake, 40)
    soon = Deadline.after(SOON_MS)
    read(config)
    cluster = shared_cluster(config)
    broker = cluster.broker(1, soon)
    sent = broker.send(ListOffsetsRequest(topics=[]), soon)
    for other in others:
        read(other)
    assert broker.receive(sent, ListOffsetsResponse, soon).topics == []
    assert cluster.broker(1, soon) is broker
    assert not broker.is_closed


def test_idle_connections_are_closed_by_the_next_task(fake: FakeCluster) -> None:
    idle, other = configs(fake, 2)
    with sleeps_take_no_time() as pass_seconds:
        read(idle)
        pass_seconds(MAX_IDLE_SECONDS - 1)
        read(other)
        fake.nodes[1].broker.wait_for_connections(2 * BOTH)
        pass_seconds(2)
        read(other)
        fake.nodes[1].broker.wait_for_open_connections(BOTH)
        assert fake.nodes[1].broker.connections == 2 * BOTH
        read(idle)


def test_reads_and_writes_share_no_connection(fake: FakeCluster) -> None:
    """A write in the middle of a read: neither receives what is for the other."""
    (config,) = configs(fake, 1)
    read(config)
    soon = Deadline.after(SOON_MS)
    broker = shared_cluster(config).broker(1, soon)
    sent = broker.send(ListOffsetsRequest(topics=[]), soon)
    write(config)
    assert broker.receive(sent, ListOffsetsResponse, soon).topics == []
    assert fake.log(T0).values == [b"x"]
    fake.nodes[1].broker.wait_for_open_connections(2 * BOTH)


def test_threads_share_no_connection(fake: FakeCluster) -> None:
    (config,) = configs(fake, 1)
    with ThreadPoolExecutor(1) as thread:
        other = thread.submit(shared_cluster, config).result()
    assert shared_cluster(config) is not other


def test_a_producer_keeps_its_id_while_it_is_used(fake: FakeCluster) -> None:
    config, *others = configs(fake, 40)
    for _ in range(3):
        write(config)
    assert len(fake.asked(InitProducerIdRequest)) == 1
    for other in others:
        read(other)
    write(config)
    assert len(fake.asked(InitProducerIdRequest)) == 2
