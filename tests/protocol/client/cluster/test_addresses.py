"""Advertised addresses that lead to other brokers, and clusters that take another's place."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.addresses import Addresses
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import KafkaError, MisroutedError
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.produce import ProduceRequest
from tests.fakes.cluster import FakeCluster
from tests.fakes.reading import PARTITION, offset_of, one_partition, read, write
from tests.fakes.skipping_time import sleeps_take_no_time

SOON_MS = 5_000
OTHER_CLUSTER = (
    r"says that 127\.0\.0\.1:\d+ is broker 1, but the address leads to a broker of cluster theirs"
)


def append(client: Cluster) -> None:
    write(client, b"new")


@pytest.mark.parametrize(
    "call", [offset_of, lambda client: read(client, 0, 1, idle_ms=1_000), append]
)
def test_fault_65_nothing_is_read_from_or_written_to_another_cluster(
    call: Callable[[Cluster], object],
) -> None:
    waits: dict[str, Any] = {
        "max_block_ms": 1_000,
        "delivery_timeout_ms": 1_000,
        "request_timeout_ms": 1_000,
        "retry_backoff_ms": 200,
        "retry_backoff_max_ms": 200,
    }
    with FakeCluster(cluster_id="theirs") as theirs:
        theirs.add_topic("t")
        theirs.append(PARTITION, b"not ours")
        with one_partition((b"a",), **waits) as (ours, client):
            ours.advertised[1] = theirs.nodes[1].broker.address
            with pytest.raises(KafkaError, match=OTHER_CLUSTER), sleeps_take_no_time():
                call(client)
        # A negotiation that takes long asks for the offsets of no topic (`api_versions`).
        listed = [request for _, request, _ in theirs.asked(ListOffsetsRequest) if request.topics]
        assert not listed
        for kind in (FetchRequest, ProduceRequest):
            assert not theirs.asked(kind)


def test_fault_65_metadata_comes_from_a_bootstrap_server_again() -> None:
    """The other brokers are connected, and still tell the wrong address (as in Java, KIP-1242)."""
    with FakeCluster(cluster_id="theirs") as theirs, one_partition((b"a",), nodes=2) as pair:
        ours, client = pair
        with closing(client):
            assert offset_of(client) == 1
            client.broker(2, Deadline.after(SOON_MS))
            ours.advertised[1] = theirs.nodes[1].broker.address
            client.topics(["t"], Deadline.after(SOON_MS))
            connections = [node.broker.connections for node in ours.nodes.values()]
            with pytest.raises(MisroutedError, match=OTHER_CLUSTER):
                client.broker(1, Deadline.after(SOON_MS))
            del ours.advertised[1]
            asked = len(ours.asked(MetadataRequest))
            assert offset_of(client) == 1
            assert len(ours.asked(MetadataRequest)) > asked
            # One for metadata from the bootstrap server, one to broker 1.
            now = [node.broker.connections for node in ours.nodes.values()]
            assert sum(now) == sum(connections) + 2


def test_fault_65_the_old_brokers_are_asked_if_no_bootstrap_server_responds() -> None:
    with one_partition((b"a",), nodes=3) as (ours, client):
        assert offset_of(client) == 1
        client.broker(2, Deadline.after(SOON_MS))
        ours.advertised[1] = ours.nodes[3].broker.address
        client.topics(["t"], Deadline.after(SOON_MS))
        with pytest.raises(MisroutedError, match="leads to broker 3 of the same cluster"):
            client.broker(1, Deadline.after(SOON_MS))
        for each in (1, 3):
            ours.nodes[each].broker.stop_listening()
        assert client.topics(["t"], Deadline.after(SOON_MS))["t"].error_code == 0


def test_a_cluster_in_the_place_of_another(caplog: pytest.LogCaptureFixture) -> None:
    """Open connections lead to the old one, so none of them is used."""
    with FakeCluster(cluster_id="blue") as blue, FakeCluster(cluster_id="green") as green:
        for each in (blue, green):
            each.add_topic("t")
        green.append(PARTITION, b"a", b"b")
        both = blue.bootstrap_servers + green.bootstrap_servers
        with closing(blue.client(bootstrap_servers=both)) as client:
            assert offset_of(client) == 0
            blue.stop(1)
            client.forget("t")
            with caplog.at_level(logging.WARNING):
                assert offset_of(client) == 2
    assert "lead to cluster green, and led to cluster blue before" in caplog.text


def test_a_starting_broker_changes_no_address() -> None:
    addresses = Addresses()
    broker = MetadataResponse.MetadataResponseBroker(node_id=1, host="b", port=9092)
    assert not addresses.update(MetadataResponse(brokers=[broker], cluster_id="c"))
    addresses.are_wrong = True
    assert not addresses.update(MetadataResponse(cluster_id="c"))
    assert [*addresses.by_node_id] == [1]
    assert addresses.are_wrong
    # Kafka before 0.10.1 has no cluster id.
    assert not addresses.update(MetadataResponse(brokers=[broker]))
    assert not addresses.are_wrong
