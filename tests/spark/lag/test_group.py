"""The lag of a consumer group on fake brokers."""

from __future__ import annotations

from contextlib import closing

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.groups import commit_offsets
from kafka_protocol.errors import KafkaError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.lag.group import group_lag
from tests.fakes.cluster import FakeCluster


def test_committed_offsets_against_the_logs() -> None:
    first, second = (TopicPartition("t", number) for number in range(2))
    with FakeCluster() as cluster:
        cluster.add_topic("t", partitions=2)
        cluster.append(first, b"a", b"b", b"c")
        with closing(cluster.client()) as client:
            commit_offsets(client, "readers", {first: 1, second: 0}, Deadline.after(30_000))
            lag = group_lag("readers", client, Deadline.after(30_000))
            with pytest.raises(KafkaError, match="'others' has committed no offsets"):
                group_lag("others", client, Deadline.after(30_000))
    assert lag.name == "readers"
    assert [(each.source, each.planned, each.records) for each in lag.partitions] == [
        ("", 1, 2),
        ("", 0, 0),
    ]
