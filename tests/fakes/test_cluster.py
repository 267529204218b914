"""The fake cluster itself: versions, waits of its brokers, refusals, and what tests change."""

from __future__ import annotations

from contextlib import closing

import pytest

from kafka_protocol.client.broker.broker import Broker, SentRequest
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic, delete_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.groups import commit_offsets, committed_offsets
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.network.transport import ClosedByPeerError
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.create_topics import CreateTopicsRequest
from kafka_protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.messages.offset_commit import OffsetCommitRequest
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import Request, VersionRange
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import START_MS, batch_of, in_transaction
from tests.fakes.reading import ABC, IN_THREE, PARTITION, offset_of, one_partition, read, write
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.fakes.transactions import opened, transactional
from tests.simulation.kafka.requests import fetch_request, fetched, list_request
from tests.simulation.kafka.transactions import State

SOON_MS = 5_000


def versions_from(kind: type[Request], lowest: int) -> list[tuple[type[Request], int]]:
    return [(kind, version) for version in range(lowest, kind.versions.highest + 1)]


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        *versions_from(FetchRequest, 0),
        *versions_from(ListOffsetsRequest, 1),
        *versions_from(MetadataRequest, 0),
        *versions_from(ProduceRequest, 3),
    ],
)
def test_every_version_writes_and_reads(kind: type[Request], version: int) -> None:
    with one_partition() as (cluster, client):
        cluster.offer(kind, VersionRange(0, version))
        if kind is MetadataRequest and version < 10:
            # Without topic ids in metadata, requests cannot name topics by id.
            cluster.offer(FetchRequest, VersionRange(0, 12))
            cluster.offer(ProduceRequest, VersionRange(0, 12))
        write(client, b"a", b"b")
        write(client, b"c")
        positions = (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, START_MS, START_MS + 1)
        found = [
            list_offsets(client, {PARTITION: position}, Deadline.after(SOON_MS))[PARTITION]
            for position in positions
        ]
        assert found == [0, 3, 0, -1]
        assert read(client, 0, 3) == ABC
        assert {asked for _, _, asked in cluster.asked(kind)} == {version}


@pytest.mark.parametrize("release", ["0.11", "1.0", "2.4", "2.8", "3.9", "4.3", "4.4"])
def test_releases(release: str) -> None:
    with one_partition(release=release) as (_, client):
        write(client, b"a", b"b")
        write(client, b"c")
        assert read(client, 0, 3) == ABC


@pytest.mark.parametrize(
    ("kind", "version"),
    [*versions_from(OffsetCommitRequest, 1), *versions_from(OffsetFetchRequest, 1)],
)
def test_every_version_commits_and_fetches_offsets(kind: type[Request], version: int) -> None:
    with one_partition(nodes=2) as (cluster, client):
        cluster.add_partitions("t", 2)
        cluster.move_coordinator("g", 2)
        cluster.offer(kind, VersionRange(0, version))
        other = TopicPartition("t", 1)
        commit_offsets(client, "g", {PARTITION: 5, other: 0}, Deadline.after(SOON_MS))
        asked = [PARTITION, other, TopicPartition("t", 2)]
        found = committed_offsets(client, "g", asked, Deadline.after(SOON_MS))
        assert found == {PARTITION: 5, other: 0}
        assert committed_offsets(client, "h", asked, Deadline.after(SOON_MS)) == {}
        assert {node for node, request, _ in cluster.asked(OffsetCommitRequest)} == {2}


# --- Waits ---------------------------------------------------------------------------------------


def long_poll(
    cluster: FakeCluster, client: Cluster, max_wait_ms: int = 60_000
) -> tuple[Broker, SentRequest]:
    """A Fetch at the end of the log."""
    client.topics([], Deadline.after(SOON_MS))
    broker = client.broker(1, Deadline.after(SOON_MS))
    request = fetch_request(
        cluster.log(PARTITION).end_offset,
        PARTITION,
        max_wait_ms=max_wait_ms,
        topic_id=cluster.topics["t"].topic_id,
    )
    return broker, broker.send(request, Deadline.after(SOON_MS))


def wait_for_fetch(cluster: FakeCluster) -> None:
    deadline = Deadline.after(SOON_MS)
    while not cluster.asked(FetchRequest):
        assert not deadline.has_passed


def records_of(broker: Broker, sent: SentRequest) -> bytes:
    response = broker.receive(sent, FetchResponse, Deadline.after(100_000))
    return bytes(fetched(response).records)


def test_a_long_poll_ends_with_a_record() -> None:
    with one_partition() as (cluster, client):
        broker, sent = long_poll(cluster, client)
        wait_for_fetch(cluster)
        cluster.append(PARTITION, b"a")
        assert b"a" in records_of(broker, sent)


def test_a_long_poll_ends_with_its_time() -> None:
    with one_partition() as (cluster, client):
        assert records_of(*long_poll(cluster, client, max_wait_ms=5)) == b""


def test_a_long_poll_takes_no_time_where_sleeps_take_none() -> None:
    with one_partition() as (cluster, client), sleeps_take_no_time() as skipping:
        begun = skipping.monotonic()
        assert records_of(*long_poll(cluster, client)) == b""
        assert skipping.monotonic() - begun >= 60
    cluster.add_topic("u")
    assert "u" in cluster.topics


def test_a_long_poll_ends_with_its_broker() -> None:
    with one_partition() as (cluster, client):
        broker, sent = long_poll(cluster, client)
        wait_for_fetch(cluster)
        cluster.stop(1)
        with pytest.raises(ClosedByPeerError):
            records_of(broker, sent)


def test_a_transaction_times_out_by_itself() -> None:
    with transactional() as (cluster, client), sleeps_take_no_time() as pass_seconds:
        opened(client, b"a")
        pass_seconds(59)
        assert offset_of(client) == 0
        pass_seconds(2)
        assert offset_of(client) == 2
        assert cluster.transactions["a"].state is State.COMPLETE_ABORT


# --- Refusals ------------------------------------------------------------------------------------


def refused(client: Cluster, *numbers: int, node: int = 1) -> list[ErrorCode]:
    """What a broker says of partitions."""
    request = list_request(LATEST_TIMESTAMP, PARTITION)
    row = request.topics[0].partitions[0]
    request.topics[0].partitions = [type(row)(partition_index=n, timestamp=-1) for n in numbers]
    soon = Deadline.after(SOON_MS)
    client.topics([], soon)
    response = client.broker(node, soon).request(request, ListOffsetsResponse, soon)
    return [ErrorCode(each.error_code) for each in response.topics[0].partitions]


NONE, DENIED, UNKNOWN, MOVED = (
    ErrorCode[name]
    for name in (
        *("NONE", "TOPIC_AUTHORIZATION_FAILED", "UNKNOWN_TOPIC_OR_PARTITION"),
        "NOT_LEADER_OR_FOLLOWER",
    )
)


def test_each_request_takes_the_first_refusal() -> None:
    with one_partition() as (cluster, client):
        cluster.add_partitions("t", 2)
        for error in (NONE, DENIED):
            cluster.add_fault(ListOffsetsRequest, error=error, count=1)
        cluster.add_fault(ListOffsetsRequest, error=UNKNOWN, count=2)
        found = [refused(client, 0, 1) for _ in range(5)]
        assert found == [[each] * 2 for each in (NONE, DENIED, UNKNOWN, UNKNOWN, NONE)]


def test_a_refusal_of_one_partition() -> None:
    with one_partition() as (cluster, client):
        cluster.add_partitions("t", 2)
        cluster.add_fault(ListOffsetsRequest, error=DENIED, topic="u")
        cluster.add_fault(ListOffsetsRequest, error=DENIED, topic="t", partition=1, count=1)
        cluster.add_fault(FetchRequest, error=DENIED)
        assert [refused(client, *each) for each in ([0], [0, 1], [0, 1])] == [
            *([NONE], [NONE, DENIED], [NONE, NONE]),
        ]


def test_a_refusal_of_one_broker() -> None:
    with one_partition(nodes=2) as (cluster, client):
        cluster.add_fault(ListOffsetsRequest, error=DENIED, node=1)
        assert [refused(client, 0, node=node) for node in (1, 2)] == [[DENIED], [MOVED]]


def test_topics_are_neither_created_nor_deleted() -> None:
    with one_partition() as (cluster, client):
        soon = Deadline.after(SOON_MS)
        for kind in (CreateTopicsRequest, DeleteTopicsRequest):
            cluster.add_fault(kind, error=DENIED)
        with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
            create_topic(client, NewTopic("u", 1, 1), soon)
        with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
            delete_topic(client, "t", soon)
        assert [*cluster.topics] == ["t"]


def test_a_refused_request_does_nothing() -> None:
    with one_partition(retries=1) as (cluster, client):
        cluster.add_fault(ProduceRequest, error=ErrorCode.NOT_ENOUGH_REPLICAS, count=1)
        write(client, b"a")
        assert len(cluster.asked(ProduceRequest)) == 2
        assert cluster.log(PARTITION).values == [b"a"]


# --- Changes -------------------------------------------------------------------------------------


def test_a_broker_that_stops_stays_the_leader() -> None:
    with one_partition(*IN_THREE, nodes=2) as (cluster, client):
        before = cluster.nodes[1].broker.address
        cluster.stop(1)
        assert cluster.leader(PARTITION) == 1
        cluster.start(1)
        assert cluster.nodes[1].broker.address != before
        assert read(client, 0, 3) == ABC


@pytest.mark.parametrize("node", [1, 2, 3])
def test_all_replicas_have_the_same_log(node: int) -> None:
    with one_partition(*IN_THREE, nodes=3) as (cluster, client):
        log = cluster.log(PARTITION)
        log.append_at(5, batch_of(b"f"))
        log.append(in_transaction(1, b"g"))
        log.truncate(6)
        log.delete_before(2)
        cluster.move_leader(PARTITION, node)
        assert (log.start_offset, log.end_offset) == (2, 6)
        assert read(client, 2, 6) == [(2, b"c"), (5, b"f")]


def test_offsets_of_a_group_move_with_its_coordinator() -> None:
    with FakeCluster(nodes=2) as cluster, closing(cluster.client()) as client:
        cluster.add_topic("t")
        cluster.commit("g", {PARTITION: 1, TopicPartition("gone", 0): 2})
        cluster.commit("g", {PARTITION: 3})
        cluster.move_coordinator("g", 2)
        assert cluster.committed == {"g": {PARTITION: 3}}
        soon = Deadline.after(SOON_MS)
        assert committed_offsets(client, "g", [PARTITION], soon) == {PARTITION: 3}
        assert {node for node, _, _ in cluster.asked(OffsetFetchRequest)} == {2}
