"""Topics that come and go, metadata that is old, upkeep of logs, sessions, and repetition."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

import pytest

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kafka_protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.messages.find_coordinator import (
    GROUP,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_protocol.messages.produce import ProduceResponse
from kafka_protocol.records.batch import Producer
from kafka_protocol.records.record import Record
from kafka_protocol.records.transactions import ABORT, COMMIT
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka.batches import Marker, batch_of, marker_batch
from tests.simulation.kafka.cluster import NoLeaderError, SimulatedCluster
from tests.simulation.kafka.conftest import Connect
from tests.simulation.kafka.requests import (
    TP,
    batch,
    fetch_request,
    fetched,
    produce_request,
    produced,
    values,
)
from tests.simulation.kafka.settings import BrokerSettings, Delay
from tests.simulation.kafka.world import START_MS, Client, VirtualTime

_BY_NAME = 12
_Topic = MetadataRequest.MetadataRequestTopic


def _metadata(client: Client, name: str = "t", version: int = 13) -> Any:
    request = MetadataRequest(topics=[_Topic(name=name)], allow_auto_topic_creation=False)
    return client.ask(request, MetadataResponse, version).topics[0]


# --- Topics --------------------------------------------------------------------------------------


def test_a_topic_that_is_created_again_has_another_id_and_no_records(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    client = connect()
    old_id: uuid.UUID = _metadata(client).topic_id
    client.ask(produce_request(batch(b"a"), topic_id=old_id), ProduceResponse)
    cluster.delete_topic("t")
    time.run(100)
    assert _metadata(client).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    cluster.create_topic("t")
    time.run(100)
    client = connect()
    data = fetched(client.ask(fetch_request(0, topic_id=old_id), FetchResponse))
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert _metadata(client).topic_id == cluster.topic_ids("t")[-1] != old_id
    assert cluster.log(TP) == []
    assert cluster.acknowledged(TP) == []


def test_until_the_old_log_is_gone_the_new_id_is_inconsistent(
    time: VirtualTime,
) -> None:
    settings = BrokerSettings(deletion=Delay(1_000, 1_000))
    cluster = SimulatedCluster(time, nodes=1, settings=settings)
    cluster.create_topic("t")
    time.run(100)
    client = Client(cluster, time)
    cluster.delete_topic("t")
    new_id = cluster.create_topic("t").topic_id
    time.run(100)
    data = fetched(client.ask(fetch_request(0, topic_id=new_id), FetchResponse))
    assert data.error_code == ErrorCode.INCONSISTENT_TOPIC_ID
    response = client.ask(produce_request(batch(b"a")), ProduceResponse, _BY_NAME)
    assert produced(response).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    time.run(1_000)
    data = fetched(client.ask(fetch_request(0, topic_id=new_id), FetchResponse))
    assert not data.error_code


def test_a_broker_may_serve_a_deleted_topic_for_a_while(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    client = connect()
    cluster.keep_stale(cluster.leader(TP), 5_000)
    cluster.delete_topic("t")
    time.run(100)
    assert not _metadata(client).error_code
    others = [n for n in cluster.brokers if n != client.session.broker.node]
    for node in others:
        assert _metadata(Client(cluster, client.time, node)).error_code
    time.run(5_000)
    assert _metadata(client).error_code


def test_added_partitions_are_served(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    cluster.add_partitions("t", 3)
    time.run(100)
    assert len(_metadata(connect()).partitions) == 3
    added = TopicPartition("t", 2)
    client = Client(cluster, time, cluster.leader(added))
    response = client.ask(produce_request(batch(b"a"), added), ProduceResponse, _BY_NAME)
    assert not produced(response).error_code


@pytest.mark.parametrize("release", ["2.0", "4.3"])
def test_topics_are_created_by_the_controller(time: VirtualTime, release: str) -> None:
    cluster = SimulatedCluster(time, release=release)
    Topic = CreateTopicsRequest.CreatableTopic
    wanted = Topic(name="new", num_partitions=2, replication_factor=3)
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=1_000)
    codes = [
        Client(cluster, time, node).ask(request, CreateTopicsResponse, 3).topics[0].error_code
        for node in (2, 1)
    ]
    kraft, zookeeper = [0, ErrorCode.TOPIC_ALREADY_EXISTS], [ErrorCode.NOT_CONTROLLER, 0]
    assert codes == (kraft if release == "4.3" else zookeeper)
    delete = DeleteTopicsRequest(topic_names=["new"], timeout_ms=1_000)
    response = Client(cluster, time, 1).ask(delete, DeleteTopicsResponse, 2)
    assert not response.responses[0].error_code
    assert "new" not in cluster.controller.topics


def test_topics_are_created_by_metadata_where_that_is_on(time: VirtualTime) -> None:
    cluster = SimulatedCluster(time, settings=BrokerSettings(creates_topics=True))
    client = Client(cluster, time)
    assert _metadata(client, "new").error_code
    assert "new" not in cluster.controller.topics
    client.ask(MetadataRequest(topics=[_Topic(name="new")]), MetadataResponse)
    time.run(100)
    assert not _metadata(client, "new").error_code


def test_a_partition_without_replicas_has_no_leader(
    cluster: SimulatedCluster, time: VirtualTime
) -> None:
    cluster.create_topic("single", replication=1)
    only = TopicPartition("single", 0)
    time.run(100)
    node = cluster.leader(only)
    cluster.kill(node)
    time.run(10_000)
    other = next(n for n in cluster.brokers if n != node)
    partition = _metadata(Client(cluster, time, other), "single").partitions[0]
    assert (partition.leader_id, partition.error_code) == (-1, ErrorCode.LEADER_NOT_AVAILABLE)
    with pytest.raises(NoLeaderError):
        cluster.append_as(only, batch(b"a"))
    cluster.start(node)
    time.run(2_000)
    assert cluster.leader(only) == node


def test_a_topic_may_allow_unclean_elections(cluster: SimulatedCluster, time: VirtualTime) -> None:
    cluster.create_topic("risky", config={"unclean.leader.election.enable": "true"})
    risky = TopicPartition("risky", 0)
    time.run(100)
    first = cluster.leader(risky)
    for node in cluster.brokers:
        if node != first:
            cluster.kill(node)
    time.run(10_000)
    cluster.append_as(risky, batch(b"a"))
    cluster.kill(first)
    second = next(node for node in cluster.brokers if node != first)
    cluster.start(second)
    time.run(20_000)
    assert cluster.leader(risky) == second
    assert cluster.unclean_elections == [risky]
    assert cluster.log(risky) == []


# --- Logs ----------------------------------------------------------------------------------------


def test_retention_moves_the_log_start_on_all_replicas(
    cluster: SimulatedCluster, time: VirtualTime
) -> None:
    cluster.create_topic("kept", config={"retention.ms": "60000"})
    kept = TopicPartition("kept", 0)
    time.run(100)
    cluster.append_as(kept, batch(b"a"))
    time.run(50_000)
    cluster.append_as(kept, batch(b"b", timestamp=int(time.now_ms)))
    time.run(20_000)
    assert cluster.apply_retention(kept) == 1
    time.run(100)
    starts = {broker.replicas[kept].log.start_offset for broker in cluster.brokers.values()}
    assert starts == {1} == {cluster.log_start(kept)}
    assert values(cluster.log(kept)) == [b"b"]


def test_retention_by_bytes_keeps_the_newest(cluster: SimulatedCluster, time: VirtualTime) -> None:
    size = len(batch(b"a"))
    cluster.create_topic("small", config={"retention.bytes": str(2 * size)})
    small = TopicPartition("small", 0)
    time.run(100)
    for value in (b"a", b"b", b"c", b"d"):
        cluster.append_as(small, batch(value))
    time.run(100)
    assert cluster.apply_retention(small) == 2


def _delete_records(client: Client, offset: int, timeout_ms: int = 1_000) -> Any:
    Topic = DeleteRecordsRequest.DeleteRecordsTopic
    row = Topic.DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=[Topic(name="t", partitions=[row])], timeout_ms=timeout_ms
    )
    return client.ask(request, DeleteRecordsResponse).topics[0].partitions[0]


def test_records_are_deleted_when_all_followers_have_done_it(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    for value in (b"a", b"b", b"c"):
        cluster.append_as(TP, batch(value))
    time.run(100)
    assert (_delete_records(connect(), 2).low_watermark, cluster.log_start(TP)) == (2, 2)
    assert {b.replicas[TP].log.start_offset for b in cluster.brokers.values()} == {2}
    cluster.isolate(next(n for n in cluster.brokers if n != cluster.leader(TP)))
    late = _delete_records(connect(), 3)
    assert (late.error_code, late.low_watermark) == (ErrorCode.REQUEST_TIMED_OUT, 2)


def test_a_follower_whose_records_are_all_deleted_begins_where_the_leader_does(
    cluster: SimulatedCluster, time: VirtualTime
) -> None:
    away = next(n for n in cluster.brokers if n != cluster.leader(TP))
    cluster.append_as(TP, batch(b"a"))
    time.run(100)
    cluster.stop(away)
    time.run(100)
    for value in (b"b", b"c", b"d"):
        cluster.append_as(TP, batch(value))
    time.run(100)
    cluster.delete_records(TP, 3)
    cluster.start(away)
    time.run(2_000)
    log = cluster.brokers[away].replicas[TP].log
    assert (log.start_offset, [stored.base_offset for stored in log.batches]) == (3, [3])
    assert away in cluster.controller.topics["t"].partitions[0].isr


def _keyed(*pairs: tuple[bytes, bytes], producer: Producer | None = None) -> bytes:
    records = [Record(at, int(START_MS), key, value) for at, (key, value) in enumerate(pairs)]
    return batch_of(records, producer) if producer else batch_of(records)


def test_compaction_leaves_gaps_and_what_producers_need(
    cluster: SimulatedCluster, connect: Connect, time: VirtualTime
) -> None:
    aborted, kept = Producer(1, 0, 0, is_transactional=True), Producer(2, 0, 0)
    cluster.append_as(TP, _keyed((b"a", b"1"), (b"b", b"1"), (b"c", b"1")))
    cluster.append_as(TP, _keyed((b"a", b"2"), producer=kept))
    cluster.append_as(TP, _keyed((b"a", b"x"), producer=aborted))
    cluster.append_as(TP, marker_batch(1, 0, Marker(ABORT, 0), int(START_MS)))
    cluster.append_as(TP, _keyed((b"a", b"3"), (b"c", b"2")))
    cluster.append_as(TP, _keyed((b"z", b"1")))
    time.run(100)
    assert [r.outcome for r in cluster.log(TP)].count("aborted") == 1
    cluster.compact("t")
    found = [(r.offset, r.key, r.value) for r in cluster.log(TP)]
    assert found == [(1, b"b", b"1"), (6, b"a", b"3"), (7, b"c", b"2"), (8, b"z", b"1")]
    data = fetched(connect().ask(fetch_request(0), FetchResponse, _BY_NAME))
    assert (data.error_code, data.high_watermark) == (0, 9)
    replica = cluster.brokers[cluster.leader(TP)].replicas[TP]
    bases = [stored.base_offset for stored in replica.log.batches]
    assert bases == [0, 3, 5, 6, 8]
    cluster.kill(cluster.leader(TP))
    time.run(12_000)
    assert [(r.offset, r.key, r.value) for r in cluster.log(TP)] == found


def test_another_clients_transaction(cluster: SimulatedCluster, time: VirtualTime) -> None:
    pid = cluster.next_producer_id()
    cluster.append_as(TP, _keyed((b"a", b"1"), producer=Producer(pid, 0, 0, True)))
    time.run(100)
    assert (cluster.last_stable_offset(TP), cluster.high_watermark(TP)) == (0, 1)
    assert cluster.committed(TP) == []
    cluster.append_as(TP, marker_batch(pid, 0, Marker(COMMIT, 0), int(START_MS)))
    assert cluster.last_stable_offset(TP) == 0  # the marker could still be lost
    time.run(100)
    assert values(cluster.committed(TP)) == [b"1"]


# --- Groups --------------------------------------------------------------------------------------


def test_offsets_of_a_group_survive_their_coordinator(
    cluster: SimulatedCluster, time: VirtualTime
) -> None:
    Topic = OffsetCommitRequest.OffsetCommitRequestTopic
    row = Topic.OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    commit = OffsetCommitRequest(group_id="g", topics=[Topic(name="t", partitions=[row])])
    response = _coordinator(cluster, time).ask(commit, OffsetCommitResponse, 9)
    assert not response.topics[0].partitions[0].error_code
    assert cluster.move_coordinator("group", "g")
    time.run(500)
    Group = OffsetFetchRequest.OffsetFetchRequestGroup
    fetch = OffsetFetchRequest(groups=[Group(group_id="g", topics=None)])
    found = _coordinator(cluster, time).ask(fetch, OffsetFetchResponse, 9).groups[0]
    assert found.topics[0].partitions[0].committed_offset == 5


def _coordinator(cluster: SimulatedCluster, time: VirtualTime) -> Client:
    """The coordinator of group `g`; the first request of all creates its topic."""
    request = FindCoordinatorRequest(key_type=GROUP, coordinator_keys=["g"])
    client = Client(cluster, time)
    while (found := client.ask(request, FindCoordinatorResponse).coordinators[0]).error_code:
        assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        time.run(50)
    time.run(100)
    return Client(cluster, time, found.node_id)


# --- Sessions ------------------------------------------------------------------------------------


def test_requests_in_pieces_are_answered_in_order(connect: Connect, time: VirtualTime) -> None:
    client = connect()
    poll = client.frame(fetch_request(0, max_wait_ms=500), 11)
    for byte in poll + client.frame(ApiVersionsRequest(), 0):
        client.session.receive(bytes([byte]))
    time.run_until(lambda: len(client.responses) == 2)
    assert [type(response) for response in client.responses] == [FetchResponse, ApiVersionsResponse]


def test_a_long_poll_ends_with_a_write_or_with_its_time(
    connect: Connect, time: VirtualTime
) -> None:
    reader, writer = connect(), connect()
    begun = time.now_ms
    assert not fetched(reader.ask(fetch_request(0, max_wait_ms=500), FetchResponse, 11)).records
    assert 500 <= time.now_ms - begun < 505
    reader.send(fetch_request(0, max_wait_ms=60_000), 11)
    writer.ask(produce_request(batch(b"a")), ProduceResponse, 11)
    time.run(100)
    assert fetched(reader.responses[-1]).records


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\n", bytes(4), b"\x00\x00\x00\x08" + bytes([0, 99] * 4)]
)
def test_what_is_no_request_closes_the_connection(
    connect: Connect, time: VirtualTime, data: bytes
) -> None:
    client = connect()
    client.session.receive(data)
    time.run(10)
    assert client.is_closed


def test_a_kill_closes_connections_and_a_pause_does_not(
    cluster: SimulatedCluster, time: VirtualTime
) -> None:
    killed, paused = Client(cluster, time, 1), Client(cluster, time, 2)
    cluster.kill(1)
    cluster.pause(2)
    paused.send(ApiVersionsRequest(), 0)
    time.run(1_000)
    assert (killed.is_closed, paused.is_closed, paused.responses) == (True, False, [])
    cluster.resume(2)
    time.run(10)
    assert len(paused.responses) == 1


def test_faults_that_meet_another_state_change_nothing(
    cluster: SimulatedCluster, time: VirtualTime
) -> None:
    client = Client(cluster, time, 1)
    cluster.start(1)
    cluster.resume(1)
    cluster.kill(2)
    cluster.pause(2)
    cluster.resume(2)
    time.run(20_000)
    assert not client.is_closed
    assert set(cluster.controller.live) == {1, 3}
    cluster.start(2)
    time.run(2_000)
    assert set(cluster.controller.live) == {1, 2, 3}


# --- Repetition ----------------------------------------------------------------------------------


def _run(seed: int) -> str:
    """A digest of what clients saw in a run with elections and a kill."""
    time = VirtualTime(seed)
    cluster = SimulatedCluster(time)
    cluster.create_topic("t", 3)
    time.run(100)
    digest = hashlib.sha256()
    for step in range(30):
        partition = TopicPartition("t", step % 3)
        if step == 10:
            cluster.kill(cluster.leader(partition))
            time.run(12_000)
        if step == 20:
            cluster.elect(partition, time.random.choice([1, 2, 3]))
        leader = cluster.leader(partition)
        if leader in cluster.brokers and cluster.brokers[leader].is_up:
            client = Client(cluster, time, leader)
            request = produce_request(batch(b"%d" % step), partition)
            digest.update(repr(client.ask(request, ProduceResponse, _BY_NAME)).encode())
            digest.update(repr(_metadata(client)).encode())
            digest.update(repr(time.now_ms).encode())
    return digest.hexdigest()


def test_the_same_seed_gives_the_same_run() -> None:
    assert _run(1) == _run(1) != _run(2)
