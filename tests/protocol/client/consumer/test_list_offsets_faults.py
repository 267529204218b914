"""Faults of planning: what brokers say to ListOffsets and Metadata, and what is believed."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer import list_offsets as offsets
from kafka_protocol.client.consumer.list_offsets import list_offsets, list_positions
from kafka_protocol.errors import BrokerError, ErrorCode, ProtocolError
from kafka_protocol.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.schema import VersionRange
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes import faults
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.log import START_MS
from tests.fakes.reading import PARTITION, one_partition, read

SOON_MS = 5_000
ABC = [(0, b"a"), (1, b"b"), (2, b"c")]


def offset_of(client: Cluster, position: int) -> int:
    return list_offsets(client, {PARTITION: position}, Deadline.after(SOON_MS))[PARTITION]


# --- ListOffsets ---------------------------------------------------------------------------------

Answer = ListOffsetsResponse.ListOffsetsTopicResponse


def answering(offset: int) -> faults.Fault:
    def change(response: ListOffsetsResponse) -> None:
        # Of none where it is asked, empty, whether it is there at all: on a slow machine.
        for topic in response.topics:
            for answer in topic.partitions:
                answer.offset, answer.old_style_offsets = offset, []

    return faults.changed(change)


@pytest.mark.parametrize("position", [EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, START_MS])
@pytest.mark.parametrize("offset", [-(2**63), -2])
def test_fault_39_offsets_below_0(position: int, offset: int) -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.spoil(ListOffsetsRequest, faults.only(2, answering(offset)))
        assert offset_of(client, position) == (1 if position == LATEST_TIMESTAMP else 0)
        cluster.spoil(ListOffsetsRequest, answering(offset))
        with pytest.raises(ProtocolError, match=rf"ListOffsets of t-0 to broker 1 .*{offset}"):
            list_offsets(client, {PARTITION: position}, Deadline.after(50))


@pytest.mark.parametrize("version", [0, 1, 11])
@pytest.mark.parametrize("position", [EARLIEST_TIMESTAMP, LATEST_TIMESTAMP])
def test_fault_39_an_end_of_a_log_that_is_not_there(position: int, version: int) -> None:
    """-1 says that no record is that young; every log has a beginning and an end."""
    with one_partition((b"a",)) as (cluster, client):
        cluster.offer(ListOffsetsRequest, VersionRange(0, version))
        cluster.spoil(ListOffsetsRequest, answering(-1))
        with pytest.raises(ProtocolError, match=r"ListOffsets of t-0 to broker 1 "):
            list_offsets(client, {PARTITION: position}, Deadline.after(50))


def test_no_record_is_that_young() -> None:
    with one_partition() as (_, client):
        assert offset_of(client, START_MS) == -1
        assert offset_of(client, MAX_TIMESTAMP) == -1


def omit(response: ListOffsetsResponse) -> None:
    response.topics[0].partitions.clear()


def add_others(response: ListOffsetsResponse) -> None:
    response.topics.insert(0, Answer(name="other", partitions=[*response.topics[0].partitions]))
    response.topics[1].partitions.append(Answer.ListOffsetsPartitionResponse(partition_index=7))


@pytest.mark.parametrize("change", [omit, add_others])
def test_fault_39_answers_to_list_offsets_of_the_wrong_parts(change: Any) -> None:
    with one_partition((b"a",)) as (cluster, client):
        cluster.spoil(ListOffsetsRequest, faults.only(2, faults.changed(change)))
        assert offset_of(client, LATEST_TIMESTAMP) == 1


@pytest.mark.parametrize("unknown", [TopicPartition("t", 7), TopicPartition("nowhere", 0)])
def test_fault_23_a_partition_that_stays_unknown_is_given_up_long_before_the_deadline(
    monkeypatch: pytest.MonkeyPatch, unknown: TopicPartition
) -> None:
    monkeypatch.setattr(offsets, "TOPIC_GRACE_MS", 100)
    wanted = dict.fromkeys([PARTITION, unknown], LATEST_TIMESTAMP)
    with one_partition((b"a",)) as (_, client):
        early, deadline = Deadline.after(80), Deadline.after(60_000)
        with pytest.raises(BrokerError, match=f"{unknown}") as caught:
            list_offsets(client, wanted, deadline)
        assert caught.value.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert early.has_passed, "a topic that was created a moment ago has its time"
        assert deadline.remaining_ms > 30_000


def test_fault_23_a_leader_that_does_not_know_its_partition_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(offsets, "TOPIC_GRACE_MS", 100)
    with one_partition((b"a",)) as (cluster, client):
        cluster.spoil(ListOffsetsRequest, faults.refusing(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        deadline = Deadline.after(60_000)
        with pytest.raises(BrokerError, match="ListOffsets of t-0 to broker 1"):
            list_offsets(client, {PARTITION: LATEST_TIMESTAMP}, deadline)
        assert deadline.remaining_ms > 30_000


def test_fault_22_a_partition_that_is_unknown_for_a_moment_is_asked_for_again() -> None:
    with one_partition((b"a",)) as (cluster, client):
        unknown = faults.refusing(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        cluster.spoil(ListOffsetsRequest, faults.only(3, unknown))
        assert offset_of(client, LATEST_TIMESTAMP) == 1


def test_fault_18_a_partition_without_a_leader_is_asked_for_until_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It exists, so the grace for topics that may not is none of its business."""
    monkeypatch.setattr(offsets, "TOPIC_GRACE_MS", 20)
    with one_partition((b"a",)) as (cluster, client):
        cluster.move_leader(PARTITION, -1)
        deadline = Deadline.after(200)
        with pytest.raises(BrokerError, match="LEADER_NOT_AVAILABLE"):
            list_offsets(client, {PARTITION: LATEST_TIMESTAMP}, deadline)
        assert deadline.remaining_ms < 100


# --- Several positions ---------------------------------------------------------------------------


def test_several_positions_cost_requests_by_broker_and_by_position() -> None:
    """However many partitions there are; and no request names a partition twice."""
    with ScriptedCluster(nodes=3) as cluster:
        cluster.add_topic("t", partitions=30)
        partitions = [TopicPartition("t", number) for number in range(30)]
        for partition in partitions[:10]:
            cluster.append(partition, b"a", b"b")
        wanted = {partition: [LATEST_TIMESTAMP, EARLIEST_TIMESTAMP] for partition in partitions}
        wanted[partitions[0]] = [START_MS, LATEST_TIMESTAMP, START_MS + 1, START_MS]
        client = cluster.client()
        try:
            found = list_positions(client, wanted, Deadline.after(SOON_MS))
        finally:
            client.close()
        assert found.pop(partitions[0]) == {START_MS: 0, START_MS + 1: -1, LATEST_TIMESTAMP: 2}
        assert found == {
            partition: {
                EARLIEST_TIMESTAMP: 0,
                LATEST_TIMESTAMP: 2 if partition.partition < 10 else 0,
            }
            for partition in partitions[1:]
        }
        asked = [request for _, request, _ in cluster.asked(ListOffsetsRequest)]
        assert len(asked) == 3 + 3 + 1
        for request in asked:
            numbers = [row.partition_index for row in request.topics[0].partitions]
            assert len(numbers) == len(set(numbers))


def test_planning_ten_thousand_partitions_takes_few_requests() -> None:
    with ScriptedCluster(nodes=3) as cluster:
        cluster.add_topic("t", partitions=10_000)
        client = cluster.client(connection_setup_timeout_ms=60_000)
        deadline = Deadline.after(60_000)
        try:
            numbers = client.topics(["t"], deadline)["t"].partitions
            wanted = {
                TopicPartition("t", n): (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP) for n in numbers
            }
            found = list_positions(client, wanted, deadline)
        finally:
            client.close()
        assert len(found) == 10_000
        assert len(cluster.asked(MetadataRequest)) == 1
        assert len(cluster.asked(ListOffsetsRequest)) == 2 * 3


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


def with_unasked_topic(response: MetadataResponse) -> None:
    response.topics.append(MetadataResponse.MetadataResponseTopic(name="unasked"))


def with_nameless_topic(response: MetadataResponse) -> None:
    response.topics.insert(0, MetadataResponse.MetadataResponseTopic(name=None))


@pytest.mark.parametrize("change", [doubled, with_unasked_topic, with_nameless_topic])
def test_fault_39_metadata_of_the_wrong_parts(change: Any) -> None:
    with one_partition((b"a",), (b"b",), (b"c",)) as (cluster, client):
        cluster.spoil(MetadataRequest, faults.changed(change))
        assert read(client, 0, 3) == ABC
        assert [*client.topics(["t"], Deadline.after(SOON_MS))] == ["t"]


def test_fault_22_a_topic_that_is_left_out_for_a_moment_costs_no_record() -> None:
    with one_partition((b"a",), (b"b",), (b"c",)) as (cluster, client):
        leave_out = faults.changed(lambda response: response.topics.clear())
        cluster.spoil(MetadataRequest, faults.only(3, leave_out))
        assert read(client, 0, 3) == ABC
