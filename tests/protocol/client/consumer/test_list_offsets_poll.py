"""Repeated ListOffsets of the same partitions, as the driver of a stream does it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.consumer.list_offsets import OffsetsPoll
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.list_offsets import (
    LATEST_TIMESTAMP,
    ListOffsetsRequest,
)
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster

PARTITIONS = [TopicPartition("t", number) for number in range(4)]
SOON_MS = 5_000


@contextmanager
def polled(**options: str) -> Iterator[tuple[FakeCluster, OffsetsPoll]]:
    """A topic of four partitions, half of them on each of two brokers."""
    with FakeCluster(nodes=2) as cluster:
        cluster.add_topic("t", len(PARTITIONS))
        with closing(cluster.client(**options)) as client:
            yield cluster, OffsetsPoll(client, dict.fromkeys(PARTITIONS, LATEST_TIMESTAMP))


def latest(poll: OffsetsPoll) -> list[int]:
    found = poll.poll(Deadline.after(SOON_MS)).offsets
    return [found[topic_partition] for topic_partition in PARTITIONS]


def test_every_poll_lists_the_current_offsets() -> None:
    with polled() as (cluster, poll):
        assert latest(poll) == latest(poll) == [0, 0, 0, 0]
        for number, topic_partition in enumerate(PARTITIONS):
            cluster.append(topic_partition, *[b"x"] * (number + 1))
            assert latest(poll) == [*range(1, number + 2)] + [0] * (3 - number)


def test_a_poll_sends_one_request_to_each_leader() -> None:
    with polled() as (cluster, poll):
        latest(poll)
        before = [len(cluster.asked(kind)) for kind in (MetadataRequest, ListOffsetsRequest)]
        for _ in range(3):
            latest(poll)
        after = [len(cluster.asked(kind)) for kind in (MetadataRequest, ListOffsetsRequest)]
        assert [now - then for now, then in zip(after, before, strict=True)] == [0, 3 * 2]


@pytest.mark.no_cover
def test_the_same_response_is_decoded_once() -> None:
    """However large it is: these are 130 kB, of 5,000 partitions."""
    with FakeCluster() as cluster:
        cluster.add_topic("t", 5_000)
        partitions = [TopicPartition("t", number) for number in range(5_000)]
        with closing(cluster.client()) as client:
            poll = OffsetsPoll(client, dict.fromkeys(partitions, LATEST_TIMESTAMP))
            found = [poll.poll(Deadline.after(SOON_MS)) for _ in range(3)]
            assert {each.version for each in found} == {1}
            assert found[0].offsets is found[1].offsets is found[2].offsets
            cluster.append(partitions[0], b"x")
            version, offsets = poll.poll(Deadline.after(SOON_MS))
            assert (version, offsets[partitions[0]]) == (2, 1)


def test_new_leaders_are_found_and_remembered() -> None:
    with polled() as (cluster, poll):
        latest(poll)
        for topic_partition in PARTITIONS:
            cluster.move_leader(topic_partition, 1)
            cluster.append(topic_partition, b"x")
        assert latest(poll) == [1, 1, 1, 1]
        before = len(cluster.asked(ListOffsetsRequest))
        assert latest(poll) == [1, 1, 1, 1]
        assert len(cluster.asked(ListOffsetsRequest)) == before + 1


@pytest.mark.parametrize(
    "fault", [faults.closing, faults.wrong_correlation_id()], ids=["closed", "wrong id"]
)
def test_a_failed_poll_is_retried(fault: faults.Fault) -> None:
    with polled() as (cluster, poll):
        latest(poll)
        cluster.append(PARTITIONS[0], b"x")
        cluster.add_fault(ListOffsetsRequest, fault, count=1)
        assert latest(poll) == [1, 0, 0, 0]
        assert latest(poll) == [1, 0, 0, 0]


def test_a_final_error_is_raised() -> None:
    with polled() as (cluster, poll):
        latest(poll)
        cluster.add_fault(ListOffsetsRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, count=1)
        with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
            latest(poll)
        assert latest(poll) == [0, 0, 0, 0]


def test_fault_23_an_unknown_partition_is_raised_at_once() -> None:
    """The driver of a stream has its own wait, which asks for new metadata."""
    with polled() as (cluster, poll):
        latest(poll)
        cluster.add_fault(ListOffsetsRequest, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, count=1)
        with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            latest(poll)
        assert latest(poll) == [0, 0, 0, 0]
