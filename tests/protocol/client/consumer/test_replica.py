"""Reads from the preferred replica, and the return to the leader."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.fetch import OffsetOutOfRangeError
from kafka_protocol.client.consumer.replica import ReadReplica
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaTimeoutError
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.wire.schema import VersionRange
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.reading import PARTITION, one_partition, read
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.simulation.kafka.replica import Replica

LEADER, FOLLOWER, OTHER = 1, 2, 3
VALUES = [(number, b"%d" % number) for number in range(6)]
BATCHES = [(value,) for _, value in VALUES]


def nearby(**options: Any) -> AbstractContextManager[tuple[FakeCluster, Cluster]]:
    """Three nodes, six records, and a client in the rack of one that follows."""
    given: dict[str, Any] = {"client_rack": "here", "max_partition_fetch_bytes": 1} | options
    return one_partition(*BATCHES, nodes=3, racks={FOLLOWER: "here"}, **given)


def follower_of(cluster: FakeCluster) -> Replica:
    """The replica in the rack, which hears no more of its leader."""
    cluster.simulated.isolate(FOLLOWER)
    return cluster.simulated.brokers[FOLLOWER].replicas[PARTITION]


def send_to(replica_id: int) -> faults.Fault:
    """The leader names a replica instead of sending records."""

    def change(response: FetchResponse) -> None:
        data = response.responses[0].partitions[0]
        data.preferred_read_replica, data.records = replica_id, b""

    return faults.changed(change)


def fetched(cluster: FakeCluster) -> dict[int, list[int]]:
    """Node -> the offsets of its Fetch requests."""
    found: dict[int, list[int]] = {}
    for node, request, _ in cluster.asked(FetchRequest):
        found.setdefault(node, []).append(request.topics[0].partitions[0].fetch_offset)
    return found


# --- To the preferred replica --------------------------------------------------------------------


@pytest.mark.parametrize("version", [11, 12, 18])
def test_the_preferred_replica_is_read(version: int) -> None:
    """At once, although the leader's response has no records."""
    with nearby(retry_backoff_ms=60_000) as (cluster, client):
        cluster.offer(FetchRequest, VersionRange(0, version))
        assert read(client, 0, 6) == VALUES
        assert fetched(cluster) == {LEADER: [0], FOLLOWER: [0, 1, 2, 3, 4, 5]}
        for _, request, _ in cluster.asked(FetchRequest):
            assert (request.replica_id, request.replica_state.replica_id) == (-1, -1)
            assert request.rack_id == "here"


def test_without_a_rack_the_leader_is_read() -> None:
    with nearby(client_rack="") as (cluster, client):
        assert read(client, 0, 6) == VALUES
        assert [*fetched(cluster)] == [LEADER]


def test_below_v11_the_leader_is_read() -> None:
    with nearby() as (cluster, client):
        cluster.offer(FetchRequest, VersionRange(0, 10))
        assert read(client, 0, 6) == VALUES
        assert [*fetched(cluster)] == [LEADER]


def test_after_the_lease_the_leader_is_read() -> None:
    with sleeps_take_no_time() as let_pass:
        choice = ReadReplica(PARTITION, "here")
        assert choice.follow(FOLLOWER, LEADER)
        let_pass(299)
        assert choice.choose(LEADER) == FOLLOWER
        let_pass(1)
        assert choice.choose(LEADER) == LEADER
        assert choice.is_leader
        assert choice.rack == "here"


def test_the_preferred_replica_becomes_the_leader() -> None:
    choice = ReadReplica(PARTITION, "here")
    assert choice.follow(FOLLOWER, LEADER)
    assert choice.choose(LEADER) == FOLLOWER
    assert choice.choose(FOLLOWER) == FOLLOWER
    assert choice.is_leader


def test_after_a_failure_no_replica_is_followed_for_a_while() -> None:
    choice = ReadReplica(PARTITION, "here")
    assert choice.follow(FOLLOWER, LEADER)
    assert not choice.follow(OTHER, FOLLOWER)
    choice.leave("the follower has not copied the next records yet")
    assert choice.choose(LEADER) == LEADER
    assert choice.rack == ""
    assert not choice.follow(FOLLOWER, LEADER)
    assert repr(choice) == "<ReadReplica of t-0 at the leader>"


# --- Back to the leader --------------------------------------------------------------------------


@pytest.mark.parametrize("replica_id", [99, 2**31 - 1])
def test_fault_21_a_replica_missing_in_metadata(replica_id: int) -> None:
    with nearby(retry_backoff_ms=60_000) as (cluster, client):
        cluster.add_fault(FetchRequest, send_to(replica_id), count=1)
        assert read(client, 0, 6) == VALUES
        assert fetched(cluster) == {LEADER: [0, 0, 1, 2, 3, 4, 5]}


def test_fault_21_a_replica_that_is_down() -> None:
    with nearby(retry_backoff_ms=60_000) as (cluster, client):
        client.topics(["t"], Deadline.after(5_000))
        cluster.stop(FOLLOWER)
        assert read(client, 0, 6) == VALUES


def test_fault_21_a_replica_goes_down_during_a_read() -> None:
    with nearby() as (cluster, client):
        handler = cluster.nodes[FOLLOWER].broker.handlers[FetchRequest]
        cluster.nodes[FOLLOWER].broker.handlers[FetchRequest] = faults.in_turn(
            handler, handler, faults.closing(handler)
        )
        assert read(client, 0, 6) == VALUES
        assert fetched(cluster)[LEADER] == [0, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "error",
    faults.errors(
        "NOT_LEADER_OR_FOLLOWER OFFSET_NOT_AVAILABLE OFFSET_OUT_OF_RANGE "
        "UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH "
        "KAFKA_STORAGE_ERROR OFFSET_MOVED_TO_TIERED_STORAGE UNKNOWN_SERVER_ERROR"
    ),
)
def test_fault_21_after_a_replica_s_error_the_leader_is_read(error: ErrorCode) -> None:
    """From the same offset, and without a pause."""
    with nearby(retry_backoff_ms=60_000) as (cluster, client):
        cluster.add_fault(FetchRequest, error=error, node=FOLLOWER)
        assert read(client, 0, 6) == VALUES
        assert fetched(cluster) == {LEADER: [0, 0, 1, 2, 3, 4, 5], FOLLOWER: [0]}


@pytest.mark.parametrize("version", [11, 18])
@pytest.mark.parametrize("lag", [3, 5])
def test_fault_21_a_lagging_replica_loses_nothing(lag: int, version: int) -> None:
    """Out of range, or a diverging epoch: the leader has the records."""
    with nearby(retry_backoff_ms=60_000) as (cluster, client), sleeps_take_no_time():
        cluster.offer(FetchRequest, VersionRange(0, version))
        follower = follower_of(cluster)

        def cut_back(_response: Any) -> None:
            if follower.log.end_offset == 6:
                follower.truncate(6 - lag)

        cluster.add_fault(FetchRequest, faults.changed(cut_back), node=FOLLOWER)
        assert read(client, 0, 6) == VALUES
        assert fetched(cluster)[FOLLOWER][0] == 0
        assert fetched(cluster)[LEADER][-1] == 5


def test_fault_21_a_low_high_watermark_returns_to_the_leader() -> None:
    with nearby(retry_backoff_ms=60_000) as (cluster, client), sleeps_take_no_time():
        follower_of(cluster).high_watermark = 4
        assert read(client, 0, 6) == VALUES
        assert fetched(cluster) == {LEADER: [0, 4, 5], FOLLOWER: [0, 1, 2, 3, 4]}


def test_fault_21_and_31_a_damaged_batch_on_a_replica() -> None:
    """The leader's batch may be intact; no record is read twice."""

    def damage(response: FetchResponse) -> None:
        data = response.responses[0].partitions[0]
        records = bytearray(data.records or b"")
        records[-1] ^= 1
        data.records = bytes(records)

    with nearby(max_partition_fetch_bytes=10_000) as (cluster, client):
        cluster.add_fault(FetchRequest, faults.changed(damage), node=FOLLOWER)
        assert read(client, 0, 6) == VALUES


def test_fault_21_out_of_range_from_the_leader_is_final() -> None:
    with nearby() as (cluster, client):
        cluster.log(PARTITION).delete_before(4)
        with pytest.raises(OffsetOutOfRangeError, match=r"\[4, 6\)"):
            read(client, 0, 6)


@pytest.mark.parametrize("replica_id", [LEADER, FOLLOWER, 99])
def test_fault_21_a_leader_that_always_names_a_replica(replica_id: int) -> None:
    """With or without a rack; and it is not polled in a loop."""
    with nearby(retry_backoff_ms=200) as (cluster, client), sleeps_take_no_time():
        cluster.add_fault(FetchRequest, send_to(replica_id))
        with pytest.raises(KafkaTimeoutError, match="Cannot fetch record for offset 0 of t-0"):
            read(client, 0, 6, idle_ms=2_000)
        assert len(cluster.asked(FetchRequest)) < 20


def test_fault_26_the_leader_refuses_as_the_replica_did() -> None:
    with nearby() as (cluster, client):
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        cluster.add_fault(FetchRequest, error=denied, node=FOLLOWER)
        cluster.add_fault(FetchRequest, error=ErrorCode.NONE, node=LEADER, count=1)
        cluster.add_fault(FetchRequest, error=denied, node=LEADER)
        with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
            read(client, 0, 6)
