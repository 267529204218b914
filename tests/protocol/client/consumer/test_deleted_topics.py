"""Which topics no broker knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.deleted_topics import unknown_to_all
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.wire.schema import VersionRange
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.skipping_time import sleeps_take_no_time


@contextmanager
def known_brokers(nodes: int = 3) -> Iterator[tuple[FakeCluster, Cluster]]:
    """The topic t of a cluster, and a client that knows its brokers; sleeps take no time."""
    with FakeCluster(nodes) as cluster, closing(cluster.client()) as client:
        cluster.add_topic("t")
        client.topics(["t"], Deadline.after(10_000))
        with sleeps_take_no_time():
            yield cluster, client


@pytest.mark.parametrize("nodes", [1, 3])
def test_fault_23_every_broker_is_asked(nodes: int) -> None:
    with known_brokers(nodes) as (cluster, client):
        assert unknown_to_all(client, ["t", "u", "v"]) == {"u", "v"}
        cluster.delete_topic("t")
        assert unknown_to_all(client, ["t"]) == {"t"}
        assert {node for node, _, _ in cluster.asked(MetadataRequest)} == cluster.nodes.keys()


def test_without_topics_no_request_is_sent() -> None:
    with known_brokers() as (cluster, client):
        before = len(cluster.asked(MetadataRequest))
        assert unknown_to_all(client, []) == set()
        assert len(cluster.asked(MetadataRequest)) == before


def without_brokers(response: MetadataResponse) -> None:
    response.brokers.clear()


def with_another_broker(response: MetadataResponse) -> None:
    response.brokers.append(MetadataResponse.MetadataResponseBroker(node_id=7, host="h", port=1))


@pytest.mark.parametrize(
    "fault",
    [
        faults.closing,
        faults.refusing(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        faults.changed(without_brokers),
        faults.changed(with_another_broker),
    ],
    ids=["closed", "denied", "starting", "another broker"],
)
def test_fault_22_one_broker_may_have_the_topic(fault: faults.Fault) -> None:
    with known_brokers() as (cluster, client):
        cluster.delete_topic("t")
        cluster.add_fault(MetadataRequest, fault, node=3)
        assert unknown_to_all(client, ["t"]) == set()


def test_fault_22_a_broker_that_cannot_be_reached_may_have_it() -> None:
    with known_brokers() as (cluster, client):
        cluster.delete_topic("t")
        cluster.stop(3)
        assert unknown_to_all(client, ["t"]) == set()


def test_fault_13_a_broker_without_topic_ids_is_no_witness() -> None:
    with known_brokers() as (cluster, client):
        cluster.delete_topic("t")
        cluster.nodes[3].versions[MetadataRequest.api_key] = VersionRange(0, 9)
        assert unknown_to_all(client, ["t"]) == set()


def test_before_metadata_no_broker_is_known() -> None:
    with FakeCluster() as cluster, closing(cluster.client()) as client:
        assert unknown_to_all(client, ["t"]) == set()
