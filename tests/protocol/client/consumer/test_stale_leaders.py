"""A leader that was replaced while it stood still answers as before; that does not count."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Topic
from kafka_protocol.client.consumer.list_offsets import OffsetsPoll, list_offsets, list_positions
from kafka_protocol.client.consumer.stale_leaders import ToldEnds
from kafka_protocol.errors import KafkaError
from kafka_protocol.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.wire.primitives import ZERO_UUID
from kafka_protocol.wire.schema import VersionRange
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import START_MS
from tests.fakes.reading import PARTITION, offset_of
from tests.fakes.skipping_time import sleeps_take_no_time

SOON_MS = 5_000
OLD, NEW = 1, 2


def as_it_was(request_kind: type[Any]) -> faults.Fault:
    """The broker that stood still answers with the leader, the epoch and the end of before."""

    def metadata(response: MetadataResponse) -> None:
        for topic in response.topics:
            for partition in topic.partitions:
                partition.leader_id, partition.leader_epoch = OLD, 0

    def offsets(response: ListOffsetsResponse) -> None:
        for topic in response.topics:
            for partition in topic.partitions:
                partition.error_code, partition.offset, partition.leader_epoch = 0, 1, 0

    return faults.changed(metadata if request_kind is MetadataRequest else offsets)


@contextmanager
def replaced_leader(nodes: int = 3, **options: Any) -> Iterator[tuple[FakeCluster, Cluster]]:
    """Broker 1 was the leader of one record; broker 2 is, and has three. Broker 1 knows nothing."""
    with FakeCluster(nodes) as cluster:
        cluster.add_topic("t")
        cluster.append(PARTITION, b"a")
        with closing(cluster.client(**options)) as client:
            client.leader(PARTITION, Deadline.after(SOON_MS))
            cluster.move_leader(PARTITION, NEW)
            cluster.append(PARTITION, b"b")
            cluster.append(PARTITION, b"c")
            for kind in (MetadataRequest, ListOffsetsRequest):
                cluster.add_fault(kind, as_it_was(kind), node=OLD)
            yield cluster, client


def test_the_end_is_that_of_the_new_leader() -> None:
    with replaced_leader() as (cluster, client):
        assert offset_of(client) == 3
        assert [node for node, _, _ in cluster.asked(ListOffsetsRequest)] == [OLD, NEW]


def test_a_time_is_looked_up_at_the_new_leader() -> None:
    with replaced_leader() as (cluster, client):
        assert offset_of(client, START_MS) == 0
        assert [node for node, _, _ in cluster.asked(ListOffsetsRequest)] == [OLD, NEW]


def test_the_start_is_asked_once() -> None:
    with replaced_leader() as (cluster, client):
        offset_of(client, EARLIEST_TIMESTAMP)
        assert [node for node, _, _ in cluster.asked(ListOffsetsRequest)] == [OLD]
        assert len(cluster.asked(MetadataRequest)) == 1


def test_both_ends_of_a_log() -> None:
    wanted = {PARTITION: (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP)}
    with replaced_leader() as (_, client):
        found = list_positions(client, wanted, Deadline.after(SOON_MS))[PARTITION]
        assert found[LATEST_TIMESTAMP] == 3


def test_the_only_other_broker_is_enough() -> None:
    with replaced_leader(nodes=2) as (_, client):
        assert offset_of(client) == 3


def test_brokers_out_of_reach_tell_nothing() -> None:
    """Then the answer counts: what remains of this is in docs/reliability.md."""
    with replaced_leader() as (cluster, client):
        for node in (NEW, 3):
            cluster.stop(node)
        assert offset_of(client) == 1


def test_a_broker_with_a_response_to_come_is_not_asked() -> None:
    """Its next response is another caller's: asking would only close the connection."""
    with replaced_leader() as (_, client):
        soon = Deadline.after(SOON_MS)
        broker = client.broker(3, soon)
        sent = broker.send(ListOffsetsRequest(topics=[]), soon)
        assert offset_of(client) == 3
        assert broker.receive(sent, ListOffsetsResponse, soon).topics == []
        assert client.broker(3, soon) is broker


def other_id(response: MetadataResponse) -> None:
    for topic in response.topics:
        topic.topic_id = uuid.UUID(int=7)


def test_another_topic_of_the_same_name_tells_nothing() -> None:
    """Its epochs are not those of the topic that answered."""
    with replaced_leader() as (cluster, client):
        for node in (NEW, 3):
            cluster.add_fault(MetadataRequest, faults.changed(other_id), node=node)
        assert offset_of(client) == 1


def test_metadata_without_epochs_tells_nothing() -> None:
    with replaced_leader() as (cluster, _):
        cluster.offer(MetadataRequest, VersionRange(0, 6))
        with closing(cluster.client()) as older:
            older.leader(PARTITION, Deadline.after(SOON_MS))
            asked = len(cluster.asked(MetadataRequest))
            offset_of(older)
            assert len(cluster.asked(MetadataRequest)) == asked


def test_a_single_broker_is_not_asked_again() -> None:
    with FakeCluster() as cluster:
        cluster.add_topic("t")
        with closing(cluster.client()) as client:
            assert offset_of(client) == 0
            assert len(cluster.asked(MetadataRequest)) == 1


def lower(response: ListOffsetsResponse) -> None:
    response.topics[0].partitions[0].offset = 1


@contextmanager
def told_three() -> Iterator[tuple[FakeCluster, Cluster]]:
    """A single broker told this process that the log ends at 3."""
    with FakeCluster() as cluster:
        cluster.add_topic("t")
        for value in (b"a", b"b", b"c"):
            cluster.append(PARTITION, value)
        with closing(cluster.client()) as client:
            assert offset_of(client) == 3
            yield cluster, client


def test_an_end_that_is_lower_than_before_is_asked_again() -> None:
    with told_three() as (cluster, _):
        cluster.add_fault(ListOffsetsRequest, faults.changed(lower), count=1)
        with closing(cluster.client()) as another:  # a new plan of the same process
            assert offset_of(another) == 3
        assert len(cluster.asked(ListOffsetsRequest)) == 3


def test_an_end_that_stays_lower_counts() -> None:
    """The log was truncated."""
    with told_three() as (cluster, client):
        cluster.log(PARTITION).truncate(2)
        assert offset_of(client) == 2
        assert offset_of(client) == 2
        assert len(cluster.asked(ListOffsetsRequest)) == 1 + 2 + 1


def test_a_poll_asks_again_for_a_lower_end() -> None:
    with replaced_leader() as (cluster, client):
        cluster.append(PARTITION, b"d")
        poll = OffsetsPoll(client, {PARTITION: LATEST_TIMESTAMP})
        # It began with the new leader, and an answer of the old one comes in between.
        list_offsets(client, {PARTITION: LATEST_TIMESTAMP}, Deadline.after(SOON_MS))
        assert poll.poll(Deadline.after(SOON_MS)).offsets == {PARTITION: 4}
        cluster.add_fault(ListOffsetsRequest, faults.changed(lower), node=NEW, count=1)
        assert poll.poll(Deadline.after(SOON_MS)).offsets == {PARTITION: 4}
        cluster.append(PARTITION, b"e")
        assert poll.poll(Deadline.after(SOON_MS)).offsets == {PARTITION: 5}


def test_told_ends_are_those_of_one_topic_id_and_isolation_level() -> None:
    def topic(number: int) -> Topic:
        return Topic("t", uuid.UUID(int=number), False, 0, {})

    told = ToldEnds(max_partitions=4)
    assert not told.is_lower(topic(1), 0, "read_committed", 5)
    assert told.is_lower(topic(1), 0, "read_committed", 4)
    assert not told.is_lower(topic(1), 0, "read_committed", 4)
    assert not told.is_lower(topic(1), 0, "read_uncommitted", 1)
    assert not told.is_lower(topic(1), 1, "read_committed", 1)
    assert not told.is_lower(topic(2), 0, "read_committed", 1)
    assert repr(told) == "<ToldEnds of 4 partitions>"
    without_id = Topic("t", ZERO_UUID, False, 0, {})
    assert not told.is_lower(without_id, 0, "read_committed", 5)
    assert not told.is_lower(without_id, 0, "read_committed", 4)
    told.is_lower(topic(3), 0, "read_committed", 5)
    assert not told.is_lower(topic(1), 0, "read_committed", 0)  # the oldest is forgotten


def test_no_leader_is_left() -> None:
    """The new leader goes away before it is asked: the old one's answer still does not count."""
    with replaced_leader() as (cluster, client):
        cluster.move_leader(PARTITION, -1)
        with (
            pytest.raises(KafkaError, match=r"LEADER_NOT_AVAILABLE|FENCED_LEADER_EPOCH"),
            sleeps_take_no_time(),
        ):
            list_offsets(client, {PARTITION: LATEST_TIMESTAMP}, Deadline.after(SOON_MS))
