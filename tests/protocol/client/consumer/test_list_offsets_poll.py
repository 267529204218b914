"""Asking for the ends of the same logs again and again, as a driver of a stream does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.consumer.list_offsets import OffsetsPoll
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.list_offsets import LATEST_TIMESTAMP, ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes import faults
from tests.fakes.cluster import ScriptedCluster

PARTITIONS = [TopicPartition("t", number) for number in range(4)]
SOON_MS = 5_000


@contextmanager
def polled(nodes: int = 2, **options: str) -> Iterator[tuple[ScriptedCluster, OffsetsPoll]]:
    """A topic of four partitions, half of them on each of two brokers."""
    with ScriptedCluster(nodes) as cluster:
        cluster.add_topic("t", len(PARTITIONS))
        client = cluster.client(**options)
        try:
            yield cluster, OffsetsPoll(client, dict.fromkeys(PARTITIONS, LATEST_TIMESTAMP))
        finally:
            client.close()


def ends(poll: OffsetsPoll) -> list[int]:
    found = poll.ask(Deadline.after(SOON_MS))
    return [found[topic_partition] for topic_partition in PARTITIONS]


def test_every_look_sees_what_is_there_now() -> None:
    with polled() as (cluster, poll):
        assert ends(poll) == ends(poll) == [0, 0, 0, 0]
        for number, topic_partition in enumerate(PARTITIONS):
            cluster.append(topic_partition, *[b"x"] * (number + 1))
            assert ends(poll) == [*range(1, number + 2)] + [0] * (3 - number)


def test_a_look_is_one_request_to_each_leader_and_no_other() -> None:
    with polled() as (cluster, poll):
        ends(poll)
        before = [len(cluster.asked(kind)) for kind in (MetadataRequest, ListOffsetsRequest)]
        for _ in range(3):
            ends(poll)
        after = [len(cluster.asked(kind)) for kind in (MetadataRequest, ListOffsetsRequest)]
        assert [now - then for now, then in zip(after, before, strict=True)] == [0, 3 * 2]


def test_leaders_that_moved_are_found_and_remembered() -> None:
    with polled() as (cluster, poll):
        ends(poll)
        for topic_partition in PARTITIONS:
            cluster.move_leader(topic_partition, 1)
            cluster.append(topic_partition, b"x")
        assert ends(poll) == [1, 1, 1, 1]
        before = len(cluster.asked(ListOffsetsRequest))
        assert ends(poll) == [1, 1, 1, 1]
        assert len(cluster.asked(ListOffsetsRequest)) == before + 1


@pytest.mark.parametrize("fault", [faults.closing, faults.misaddressed()])
def test_a_look_that_fails_is_taken_again(fault: faults.Fault) -> None:
    with polled() as (cluster, poll):
        ends(poll)
        cluster.append(PARTITIONS[0], b"x")
        cluster.spoil(ListOffsetsRequest, faults.only(1, fault))
        assert ends(poll) == [1, 0, 0, 0]
        assert ends(poll) == [1, 0, 0, 0]


def test_what_cannot_pass_is_an_error() -> None:
    with polled() as (cluster, poll):
        ends(poll)
        cluster.push_errors(ListOffsetsRequest, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
            ends(poll)
        assert ends(poll) == [0, 0, 0, 0]


def test_the_latest_offset_is_the_last_stable_one_under_read_committed() -> None:
    with polled(isolation_level="read_committed") as (cluster, poll):
        cluster.append(PARTITIONS[0], b"a", b"b")
        cluster.log(PARTITIONS[0]).first_unstable_offset = 1
        assert ends(poll) == [1, 0, 0, 0]
        cluster.log(PARTITIONS[0]).first_unstable_offset = None
        assert ends(poll) == [2, 0, 0, 0]
