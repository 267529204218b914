"""A topic is deleted when every broker lacks it, for longer than metadata needs to spread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from kafka_protocol.client.clock import Deadline, sleep_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.deleted_topics import DeletedTopics
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.schema import VersionRange
from tests.fakes import faults
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.skipping_time import sleeps_take_no_time

LONG_MS = 10_000


@contextmanager
def deleted_topics(nodes: int = 3) -> Iterator[tuple[ScriptedCluster, DeletedTopics]]:
    """The topic t of a cluster, and a client that knows its brokers; sleeps take no time."""
    with ScriptedCluster(nodes) as cluster, closing(cluster.client()) as client:
        cluster.add_topic("t")
        learn_brokers(client)
        with sleeps_take_no_time():
            yield cluster, DeletedTopics(client)


def learn_brokers(client: Cluster) -> None:
    client.topics(["t"], Deadline.after(LONG_MS))


def believed(deleted: DeletedTopics, *topics: str) -> set[str]:
    """The topics that count as deleted after a long time."""
    assert deleted.deleted_among(topics) == set(), "one response is not enough"
    sleep_ms(LONG_MS)
    return deleted.deleted_among(topics)


@pytest.mark.parametrize("nodes", [1, 3])
def test_fault_23_every_broker_lacks_the_topic(nodes: int) -> None:
    with deleted_topics(nodes) as (cluster, deleted):
        del cluster.topics["t"]
        assert deleted.deleted_among(["t"]) == set()
        sleep_ms(500)
        assert deleted.deleted_among(["t"]) == set()
        sleep_ms(600)
        assert deleted.deleted_among(["t"]) == {"t"}
        assert repr(deleted) == "<DeletedTopics: every broker lacks 1 topics>"
        assert {node for node, _, _ in cluster.asked(MetadataRequest)} == cluster.nodes.keys()


def test_fault_23_only_the_topics_that_all_lack() -> None:
    with deleted_topics() as (_, deleted):
        assert believed(deleted, "t", "u", "v") == {"u", "v"}


def test_without_topics_no_request_is_sent() -> None:
    with deleted_topics() as (cluster, deleted):
        before = len(cluster.asked(MetadataRequest))
        assert deleted.deleted_among([]) == set()
        assert len(cluster.asked(MetadataRequest)) == before


def test_fault_22_brokers_lack_a_topic_one_after_the_other() -> None:
    """The time begins when all of them lack it, and again when one has it."""
    with deleted_topics() as (cluster, deleted):
        topic = cluster.topics.pop("t")
        assert deleted.deleted_among(["t"]) == set()
        sleep_ms(LONG_MS)
        cluster.topics["t"] = topic
        assert deleted.deleted_among(["t"]) == set()
        del cluster.topics["t"]
        assert believed(deleted, "t") == {"t"}


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
    with deleted_topics() as (cluster, deleted):
        del cluster.topics["t"]
        cluster.spoil(MetadataRequest, fault, node=3)
        assert believed(deleted, "t") == set()


def test_fault_22_a_broker_that_cannot_be_reached_may_have_it() -> None:
    with deleted_topics() as (cluster, deleted):
        del cluster.topics["t"]
        cluster.stop(3)
        assert believed(deleted, "t") == set()


def test_fault_13_a_broker_without_topic_ids_is_no_witness() -> None:
    with deleted_topics() as (cluster, deleted):
        del cluster.topics["t"]
        cluster.nodes[3].versions[MetadataRequest.api_key] = VersionRange(0, 9)
        assert believed(deleted, "t") == set()


def test_before_metadata_no_broker_is_known() -> None:
    with ScriptedCluster() as cluster, closing(cluster.client()) as client:
        with sleeps_take_no_time():
            assert believed(DeletedTopics(client), "t") == set()
