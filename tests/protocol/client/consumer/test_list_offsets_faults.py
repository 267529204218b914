"""Faults of planning: wrong or incomplete responses to ListOffsets and Metadata."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline, sleep_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.list_offsets import (
    list_max_timestamps,
    list_offsets,
    list_positions,
)
from kafka_protocol.errors import (
    BrokerError,
    ErrorCode,
    KafkaError,
    ProtocolError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.schema import VersionRange
from tests.fakes import faults
from tests.fakes.broker import Handler
from tests.fakes.cluster import FakeCluster
from tests.fakes.deadlines import PassesWhen
from tests.fakes.log import START_MS
from tests.fakes.reading import ABC, IN_THREE, PARTITION, offset_of, one_partition, read
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.protocol.client.consumer.test_stale_leaders import replaced_leader

SOON_MS = 5_000
FEW_TRIES: dict[str, Any] = {"retry_backoff_ms": 500, "retry_backoff_max_ms": 500}


# --- ListOffsets ---------------------------------------------------------------------------------

Topic = ListOffsetsResponse.ListOffsetsTopicResponse


def asked_again(cluster: FakeCluster) -> Deadline:
    """A deadline that passes with the second ListOffsets from now on."""
    asked = len(cluster.asked(ListOffsetsRequest))
    return PassesWhen(lambda: len(cluster.asked(ListOffsetsRequest)) >= asked + 2)


def listing(offset: int) -> faults.Fault:
    def change(response: ListOffsetsResponse) -> None:
        for topic in response.topics:
            for result in topic.partitions:
                result.offset, result.old_style_offsets = offset, []

    return faults.changed(change)


def test_a_deadline_that_cuts_a_try_does_not_hide_the_error_before() -> None:
    with one_partition((b"a",), request_timeout_ms=300) as (cluster, client):
        cluster.move_leader(PARTITION, -1)
        asked = len(cluster.asked(MetadataRequest))

        def once(handler: Handler) -> Handler:
            return faults.in_turn(handler, faults.response_lost(handler))

        cluster.add_fault(MetadataRequest, once)
        passes = PassesWhen(lambda: len(cluster.asked(MetadataRequest)) >= asked + 2)
        with pytest.raises(BrokerError, match="LEADER_NOT_AVAILABLE"):
            list_offsets(client, {PARTITION: LATEST_TIMESTAMP}, passes)


@pytest.mark.parametrize("position", [EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, START_MS])
@pytest.mark.parametrize("offset", [-(2**63), -2])
def test_fault_39_negative_offsets(position: int, offset: int) -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.add_fault(ListOffsetsRequest, listing(offset), count=2)
        assert offset_of(client, position) == (1 if position == LATEST_TIMESTAMP else 0)
        cluster.add_fault(ListOffsetsRequest, listing(offset))
        with pytest.raises(ProtocolError, match=rf"ListOffsets of t-0 to broker 1 .*{offset}"):
            list_offsets(client, {PARTITION: position}, asked_again(cluster))


@pytest.mark.parametrize("version", [0, 1, 11])
@pytest.mark.parametrize("position", [EARLIEST_TIMESTAMP, LATEST_TIMESTAMP])
def test_fault_39_no_earliest_or_latest_offset(position: int, version: int) -> None:
    """-1 means that there is no such record; every log has a first and a last offset."""
    with one_partition((b"a",)) as (cluster, client):
        cluster.offer(ListOffsetsRequest, VersionRange(0, version))
        cluster.add_fault(ListOffsetsRequest, listing(-1))
        with pytest.raises(ProtocolError, match=r"ListOffsets of t-0 to broker 1 "):
            list_offsets(client, {PARTITION: position}, asked_again(cluster))


def test_brokers_that_know_only_the_times_of_segments_are_refused() -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.offer(ListOffsetsRequest, VersionRange(0, 0))
        assert offset_of(client, EARLIEST_TIMESTAMP) == 0
        with pytest.raises(UnsupportedVersionError, match="ListOffsets"):
            offset_of(client, START_MS)


def test_no_record_with_a_later_timestamp() -> None:
    with one_partition() as (_, client):
        assert offset_of(client, START_MS) == -1
        assert offset_of(client, MAX_TIMESTAMP) == -1


def omit(response: ListOffsetsResponse) -> None:
    response.topics[0].partitions.clear()


def add_others(response: ListOffsetsResponse) -> None:
    response.topics.insert(0, Topic(name="other", partitions=[*response.topics[0].partitions]))
    response.topics[1].partitions.append(Topic.ListOffsetsPartitionResponse(partition_index=7))


@pytest.mark.parametrize("change", [omit, add_others])
def test_fault_39_list_offsets_with_wrong_partitions(change: Any) -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.add_fault(ListOffsetsRequest, faults.changed(change), count=2)
        assert offset_of(client, LATEST_TIMESTAMP) == 1


@pytest.mark.parametrize("unknown", [TopicPartition("t", 7), TopicPartition("nowhere", 0)])
def test_fault_23_an_unknown_partition_fails_before_the_deadline(unknown: TopicPartition) -> None:
    wanted = dict.fromkeys([PARTITION, unknown], LATEST_TIMESTAMP)
    with one_partition((b"a",), **FEW_TRIES) as (_, client), sleeps_take_no_time():
        # The grace time, less a back-off that does not fit into it, with its jitter.
        early, deadline = Deadline.after(3_000 - 600), Deadline.after(60_000)
        with pytest.raises(BrokerError, match=f"{unknown}") as caught:
            list_offsets(client, wanted, deadline)
        assert caught.value.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert early.has_passed, "the grace time of a new topic"
        assert deadline.remaining_ms > 30_000


def test_fault_23_the_leader_no_longer_knows_the_partition() -> None:
    with one_partition((b"a",), **FEW_TRIES) as (cluster, client), sleeps_take_no_time():
        cluster.add_fault(ListOffsetsRequest, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        deadline = Deadline.after(60_000)
        with pytest.raises(BrokerError, match="ListOffsets of t-0 to broker 1"):
            list_offsets(client, {PARTITION: LATEST_TIMESTAMP}, deadline)
        assert deadline.remaining_ms > 30_000


def test_fault_18_the_error_before_the_deadline_is_raised() -> None:
    """The second metadata request of the last try would be too late, and is not the cause."""
    u0 = TopicPartition("u", 0)
    with one_partition() as (cluster, client), sleeps_take_no_time():
        cluster.add_topic("u")
        cluster.add_fault(ListOffsetsRequest, error=ErrorCode.NOT_LEADER_OR_FOLLOWER, count=1)
        client.leader(PARTITION, Deadline.after(SOON_MS))
        client.leader(u0, Deadline.after(SOON_MS))
        cluster.add_fault(MetadataRequest, faults.changed(lambda _: sleep_ms(SOON_MS)))
        wanted = dict.fromkeys([PARTITION, u0], LATEST_TIMESTAMP)
        with pytest.raises(BrokerError, match="NOT_LEADER_OR_FOLLOWER"):
            list_offsets(client, wanted, Deadline.after(SOON_MS))


def test_fault_22_a_briefly_unknown_partition_is_retried() -> None:
    with one_partition((b"a",)) as (cluster, client):
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        cluster.add_fault(ListOffsetsRequest, error=unknown, count=3)
        assert offset_of(client, LATEST_TIMESTAMP) == 1


def test_fault_18_no_leader_is_retried_until_the_deadline() -> None:
    """The partition exists, so the grace time of unknown topics does not apply."""
    with one_partition((b"a",), **FEW_TRIES) as (cluster, client), sleeps_take_no_time():
        cluster.move_leader(PARTITION, -1)
        deadline = Deadline.after(10_000)
        # The last request may be one for metadata that a busy machine does not get in time.
        with pytest.raises(KafkaError, match=r"LEADER_NOT_AVAILABLE|no response within"):
            list_offsets(client, {PARTITION: LATEST_TIMESTAMP}, deadline)
        assert deadline.remaining_ms < 1_000


# --- Several positions ---------------------------------------------------------------------------


def test_several_positions_take_requests_by_broker_and_position() -> None:
    """Whatever the number of partitions; and no request names a partition twice."""
    with FakeCluster(nodes=3) as cluster:
        cluster.add_topic("t", partitions=30)
        partitions = [TopicPartition("t", number) for number in range(30)]
        for partition in partitions[:10]:
            cluster.append(partition, b"a", b"b")
        wanted = {partition: [LATEST_TIMESTAMP, EARLIEST_TIMESTAMP] for partition in partitions}
        wanted[partitions[0]] = [START_MS, LATEST_TIMESTAMP, START_MS + 1, START_MS]
        with closing(cluster.client()) as client:
            found = list_positions(client, wanted, Deadline.after(SOON_MS))
        assert found.pop(partitions[0]) == {START_MS: 0, START_MS + 1: -1, LATEST_TIMESTAMP: 2}
        assert found == {
            partition: {
                EARLIEST_TIMESTAMP: 0,
                LATEST_TIMESTAMP: 2 if partition.partition < 10 else 0,
            }
            for partition in partitions[1:]
        }
        requests = [request for _, request, _ in cluster.asked(ListOffsetsRequest)]
        assert len(requests) == 3 + 3 + 1
        for request in requests:
            numbers = [row.partition_index for row in request.topics[0].partitions]
            assert len(numbers) == len(set(numbers))


@pytest.mark.no_cover
def test_planning_ten_thousand_partitions_takes_few_requests() -> None:
    with FakeCluster(nodes=3) as cluster:
        cluster.add_topic("t", partitions=10_000, replicas=1)
        client = cluster.client(connection_setup_timeout_ms=60_000)
        deadline = Deadline.after(60_000)
        with closing(client):
            numbers = client.topics(["t"], deadline)["t"].partitions
            wanted = {
                TopicPartition("t", n): (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP) for n in numbers
            }
            found = list_positions(client, wanted, deadline)
        assert len(found) == 10_000
        # Once for the leaders, and from each broker whether they still are.
        assert len(cluster.asked(MetadataRequest)) == 1 + 3
        assert len(cluster.asked(ListOffsetsRequest)) == 2 * 3


def test_fault_17_a_request_tells_the_epoch_of_the_leader_that_it_is_for() -> None:
    with one_partition(*IN_THREE, nodes=2) as (cluster, client):
        for node in (2, 1, 2):
            cluster.move_leader(PARTITION, node)
            client.forget(PARTITION.topic)
            positions = {PARTITION: LATEST_TIMESTAMP}
            assert list_offsets(client, positions, Deadline.after(SOON_MS)) == {PARTITION: 3}
        epochs = [
            request.topics[0].partitions[0].current_leader_epoch
            for _, request, _ in cluster.asked(ListOffsetsRequest)
        ]
        assert sorted(epochs) == [1, 2, 3]


def test_no_positions_at_all() -> None:
    with one_partition() as (cluster, client):
        assert list_positions(client, {}, Deadline.after(SOON_MS)) == {}
        assert list_positions(client, {PARTITION: []}, Deadline.after(SOON_MS)) == {PARTITION: {}}
        assert cluster.asked(ListOffsetsRequest) == []


# --- Metadata ------------------------------------------------------------------------------------


def doubled(response: MetadataResponse) -> None:
    response.topics *= 2
    response.brokers *= 2
    response.topics[0].partitions *= 2


def with_other_topic(response: MetadataResponse) -> None:
    response.topics.append(MetadataResponse.MetadataResponseTopic(name="other"))


def with_nameless_topic(response: MetadataResponse) -> None:
    response.topics.insert(0, MetadataResponse.MetadataResponseTopic(name=None))


@pytest.mark.parametrize("change", [doubled, with_other_topic, with_nameless_topic])
def test_fault_39_metadata_with_wrong_topics(change: Any) -> None:
    with one_partition(*IN_THREE) as (cluster, client):
        cluster.add_fault(MetadataRequest, faults.changed(change))
        assert read(client, 0, 3) == ABC
        assert [*client.topics(["t"], Deadline.after(SOON_MS))] == ["t"]


# --- The largest timestamp of each log, where brokers can tell it at once -------------------------


def newest(client: Cluster, *partitions: TopicPartition) -> dict[TopicPartition, int]:
    return list_max_timestamps(client, partitions or (PARTITION,), Deadline.after(SOON_MS))


def test_the_largest_timestamp() -> None:
    with one_partition((b"a",)) as (_, client):
        assert newest(client) == {PARTITION: START_MS}


def test_an_empty_log_and_an_unknown_partition_have_none() -> None:
    unknown = TopicPartition("nowhere", 0)
    with one_partition() as (cluster, client):
        assert newest(client, PARTITION, unknown) == {}
        cluster.append(PARTITION, b"a")
        assert newest(client, PARTITION, unknown).keys() == {PARTITION}


def test_fault_13_older_brokers_do_not_know_it() -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.offer(ListOffsetsRequest, VersionRange(0, 6))
        assert newest(client) == {}


@pytest.mark.parametrize(
    "fault", [faults.closing, faults.refusing(ErrorCode.NOT_LEADER_OR_FOLLOWER)], ids=["cut", "no"]
)
def test_what_fails_is_left_out(fault: faults.Fault) -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.add_fault(ListOffsetsRequest, fault, count=1)
        assert newest(client) == {}


def test_a_leader_that_was_replaced_does_not_count() -> None:
    with replaced_leader() as (_, client):
        assert newest(client) == {}
