"""Leaders and record sizes for a plan, from a fake cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.planning.coalescing import Hints
from kafka_spark_source.reading.size_hints import hints_for
from tests.fakes.cluster import FakeCluster

COUNT = 6
LEADERS = {TopicPartition("t", number): number % 2 + 1 for number in range(COUNT)}


@contextmanager
def a_topic() -> Iterator[tuple[FakeCluster, Cluster]]:
    """Six partitions with a record of 1,000 bytes each, on two nodes; their leaders are known."""
    with FakeCluster(nodes=2) as cluster:
        cluster.add_topic("t", COUNT)
        for each in LEADERS:
            cluster.append(each, b"x" * 1_000)
        with closing(cluster.client()) as client:
            client.topics(["t"], soon())
            yield cluster, client


def soon() -> Deadline:
    return Deadline.after(10_000)


def ranges(records: int) -> list[OffsetRange]:
    return [OffsetRange(each, 0, records) for each in LEADERS]


def test_a_few_records_need_no_sample() -> None:
    with a_topic() as (cluster, client):
        assert hints_for(client, soon(), ranges(300)) == Hints(LEADERS, {})
        assert cluster.asked(FetchRequest) == []


def test_three_partitions_of_a_topic_are_sampled() -> None:
    with a_topic() as (cluster, client):
        found = hints_for(client, soon(), ranges(1_000))
        assert found.leaders == LEADERS
        assert found.bytes_per_offset["t"] == pytest.approx(1_070, abs=20)
        asked = [request for _, request, _ in cluster.asked(FetchRequest)]
        assert sum(len(topic.partitions) for each in asked for topic in each.topics) == 3


def test_a_plan_needs_no_sample() -> None:
    with a_topic() as (cluster, client):
        cluster.add_fault(FetchRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        assert hints_for(client, soon(), ranges(1_000)) == Hints(LEADERS, {})
