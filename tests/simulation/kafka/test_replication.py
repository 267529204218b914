"""High watermarks, elections, truncation: what a leader's records need to be there for good."""

from __future__ import annotations

import pytest

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP, ListOffsetsResponse
from kafka_protocol.messages.produce import ProduceResponse
from tests.simulation.kafka.cluster import SimulatedCluster
from tests.simulation.kafka.conftest import Connect
from tests.simulation.kafka.requests import (
    TP,
    batch,
    fetch_request,
    fetched,
    list_request,
    listed,
    produce_request,
    produced,
    values,
)
from tests.simulation.kafka.settings import BrokerSettings
from tests.simulation.kafka.world import Client, VirtualTime

_BY_NAME = 12


def _write(client: Client, *written: bytes, acks: int = -1) -> int:
    """Error code of a batch with these values."""
    response = client.ask(produce_request(batch(*written), acks=acks), ProduceResponse, _BY_NAME)
    return int(produced(response).error_code)


def _follower(cluster: SimulatedCluster) -> int:
    return next(n for n in cluster.brokers if n != cluster.leader(TP))


def test_acknowledged_records_are_on_all_in_sync_replicas(
    cluster: SimulatedCluster, connect: Connect
) -> None:
    assert not _write(connect(), b"a", b"b")
    assert values(cluster.acknowledged(TP)) == [b"a", b"b"]
    ends = {broker.replicas[TP].log.end_offset for broker in cluster.brokers.values()}
    assert ends == {2}


def test_with_acks_1_the_high_watermark_lags_behind(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    client = connect()
    assert not _write(client, b"a", acks=1)
    assert cluster.high_watermark(TP) == 0
    data = fetched(client.ask(fetch_request(0), FetchResponse, _BY_NAME))
    assert (data.error_code, data.records, data.high_watermark) == (0, b"", 0)
    time.run(50)
    assert cluster.high_watermark(TP) == 1


def test_followers_hear_of_the_high_watermark_and_nothing_polls(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    _write(connect(), b"a")
    time.run(50)
    assert {b.replicas[TP].high_watermark for b in cluster.brokers.values()} == {1}
    time.run(120_000)
    assert not time.has_calls


def test_a_killed_leader_is_replaced_after_its_session(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    _write(connect(), b"a")
    killed = cluster.leader(TP)
    cluster.kill(killed)
    assert cluster.connect(killed, lambda _: None, lambda: None) is None
    assert time.run_until(lambda: cluster.leader(TP) != killed, 9_100)
    time.run(100)
    assert not _write(connect(), b"b")
    cluster.start(killed)
    time.run(2_000)
    assert values(cluster.log(TP)) == [b"a", b"b"]
    assert killed in cluster.controller.topics["t"].partitions[0].isr
    assert cluster.brokers[killed].replicas[TP].log.end_offset == 2


def test_a_leader_that_slept_answers_until_it_hears_of_the_next_one(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    slept = cluster.leader(TP)
    old = connect(slept)
    cluster.pause(slept)
    assert time.run_until(lambda: cluster.leader(TP) != slept, 10_000)
    time.run(100)
    assert not _write(connect(), b"a", b"b", b"c")
    old.send(list_request(LATEST_TIMESTAMP), 3)
    cluster.resume(slept)
    time.run_until(lambda: bool(old.responses))
    assert (listed(old.responses[0]).error_code, listed(old.responses[0]).offset) == (0, 0)
    time.run(1_000)
    late = listed(old.ask(list_request(LATEST_TIMESTAMP), ListOffsetsResponse, 3))
    assert late.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_what_a_sleeper_appended_is_cut_off(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    slept = cluster.leader(TP)
    old = connect(slept)
    cluster.pause(slept)
    time.run_until(lambda: cluster.leader(TP) != slept, 10_000)
    time.run(100)
    assert not _write(connect(), b"new")
    old.send(produce_request(batch(b"lost"), acks=1), _BY_NAME)
    cluster.resume(slept)
    time.run_until(lambda: bool(old.responses))
    assert produced(old.responses[0]).error_code == 0
    time.run(2_000)
    replica = cluster.brokers[slept].replicas[TP]
    assert replica.log.batches == cluster.brokers[cluster.leader(TP)].replicas[TP].log.batches
    assert values(cluster.log(TP)) == [b"new"]
    assert values([r for r in cluster.acknowledged(TP) if r.acks == 1]) == [b"lost"]


def test_an_unclean_election_loses_records_and_truncates_the_others(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    behind = _follower(cluster)
    cluster.isolate(behind)
    assert not _write(connect(), b"a", acks=1)
    time.run(40_000)  # it leaves the in-sync replicas
    assert behind not in cluster.controller.topics["t"].partitions[0].isr
    assert not cluster.elect(TP, behind)
    assert not cluster.unclean_elections
    assert cluster.elect(TP, behind, unclean=True)
    assert cluster.unclean_elections == [TP]
    time.run(100)
    cluster.rejoin(behind)
    time.run(2_000)
    assert values(cluster.log(TP)) == []
    assert {b.replicas[TP].log.end_offset for b in cluster.brokers.values()} == {0}
    assert not _write(connect(), b"b")
    assert values(cluster.log(TP)) == [b"b"]


def test_the_offset_is_not_available_until_the_high_watermark_is_known(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    follower = _follower(cluster)
    _write(connect(), b"a", acks=1)
    replica = cluster.brokers[follower].replicas[TP]
    time.run_until(lambda: replica.log.end_offset == 1)
    assert replica.high_watermark == 0
    other = next(n for n in cluster.brokers if n not in (follower, cluster.leader(TP)))
    cluster.isolate(other)
    cluster.elect(TP, follower)
    time.run_until(lambda: replica.is_leader)
    client = connect(follower)
    for version, error in (
        (11, ErrorCode.OFFSET_NOT_AVAILABLE),
        (4, ErrorCode.LEADER_NOT_AVAILABLE),
    ):
        found = listed(client.ask(list_request(LATEST_TIMESTAMP), ListOffsetsResponse, version))
        assert found.error_code == error
    cluster.rejoin(other)
    time.run(1_000)
    found = listed(client.ask(list_request(LATEST_TIMESTAMP), ListOffsetsResponse))
    assert (found.error_code, found.offset, found.leader_epoch) == (0, 1, 1)


def test_leader_epochs_fence_both_sides(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    cluster.elect(TP, _follower(cluster))
    time.run(100)
    client = connect()
    errors = {
        epoch: fetched(
            client.ask(fetch_request(0, epoch=epoch), FetchResponse, _BY_NAME)
        ).error_code
        for epoch in (-1, 0, 1, 2)
    }
    fenced, unknown = ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH
    assert errors == {-1: 0, 0: fenced, 1: 0, 2: unknown}


def test_a_follower_serves_reads_up_to_its_high_watermark(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    _write(connect(), b"a")
    time.run(50)
    data = fetched(connect(_follower(cluster)).ask(fetch_request(0), FetchResponse, _BY_NAME))
    assert (data.error_code, data.high_watermark) == (0, 1)
    assert data.records
    data = fetched(connect(_follower(cluster)).ask(fetch_request(0), FetchResponse, 10))
    assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_leader_names_the_replica_in_the_clients_rack(time: VirtualTime) -> None:
    settings = BrokerSettings(racks={1: "x", 2: "y", 3: "z"})
    cluster = SimulatedCluster(time, settings=settings)
    cluster.create_topic("t")
    time.run(100)
    client = Client(cluster, time, 1)
    _write(client, b"a")
    preferred = {
        rack: fetched(
            client.ask(fetch_request(0, rack=rack), FetchResponse, _BY_NAME)
        ).preferred_read_replica
        for rack in ("x", "y", "z", "other")
    }
    assert preferred == {"x": -1, "y": 2, "z": 3, "other": -1}


def test_too_few_in_sync_replicas_refuse_a_write(time: VirtualTime) -> None:
    cluster = SimulatedCluster(time, settings=BrokerSettings(min_insync_replicas=2))
    cluster.create_topic("t")
    time.run(100)
    leader = cluster.leader(TP)
    for node in (1, 2, 3):
        if node != leader:
            cluster.stop(node)
    time.run(100)
    client = Client(cluster, time, leader)
    assert _write(client, b"a") == ErrorCode.NOT_ENOUGH_REPLICAS
    assert not _write(client, b"b", acks=1)


@pytest.mark.parametrize(("release", "seen"), [("3.6", 1), ("3.7", 0)])
def test_with_too_few_in_sync_replicas_nothing_becomes_visible(
    time: VirtualTime, release: str, seen: int
) -> None:
    settings = BrokerSettings(min_insync_replicas=2)
    cluster = SimulatedCluster(time, nodes=2, release=release, settings=settings)
    cluster.create_topic("t")
    time.run(100)
    other = _follower(cluster)
    cluster.stop(other)
    time.run(100)
    client = Client(cluster, time, cluster.leader(TP))
    response = client.ask(produce_request(batch(b"a"), acks=1), ProduceResponse, 9)
    assert not produced(response).error_code
    assert cluster.high_watermark(TP) == seen
    cluster.start(other)
    time.run(2_000)
    assert cluster.high_watermark(TP) == 1


def test_a_write_times_out_while_a_follower_is_cut_off(
    cluster: SimulatedCluster, connect: Connect
) -> None:
    cluster.isolate(_follower(cluster))
    assert _write(connect(), b"a") == ErrorCode.REQUEST_TIMED_OUT
    assert not cluster.acknowledged(TP)


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_a_broker_has_what_it_wrote_after_it_was_killed(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime, acks: int
) -> None:
    client = connect()
    client.send(produce_request(batch(b"a"), acks=acks), _BY_NAME)
    time.run(100)
    assert len(client.responses) == (acks != 0)
    for node in cluster.brokers:
        cluster.kill(node)
    time.run(10_000)
    for node in cluster.brokers:
        cluster.start(node)
    time.run(5_000)
    assert values(cluster.log(TP)) == [b"a"]
    assert len(cluster.controller.topics["t"].partitions[0].isr) == 3
