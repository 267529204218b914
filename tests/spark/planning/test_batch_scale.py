"""Planning many partitions: requests grow with the brokers, not with the partitions."""

from __future__ import annotations

from collections import Counter

import pytest

from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_spark_source.source import KafkaDataSource
from tests.fakes.cluster import FakeCluster

pytestmark = pytest.mark.no_cover

NODES = 3


def asked_for(partitions: int, options: dict[str, str]) -> Counter[type]:
    """The number of requests of each kind to plan a number of partitions."""
    with FakeCluster(NODES) as cluster:
        cluster.add_topic("t", partitions, replicas=1)
        servers = ",".join(map(str, cluster.bootstrap_servers))
        source = KafkaDataSource({"kafka.bootstrap.servers": servers, "subscribe": "t"} | options)
        tasks = source.reader(source.schema()).partitions()
        assert sum(len(each.value) for each in tasks) == partitions
        return Counter(
            type(request) for node in cluster.nodes.values() for request, _ in node.broker.requests
        )


@pytest.mark.parametrize(
    ("options", "positions"),
    [
        # Both ends are bound in the tasks; how much is between them is only needed to coalesce.
        ({"coalescePartitions": "false"}, 0),
        ({}, 2),
        ({"startingOffsets": "latest-10"}, 2),
        ({"startingOffsets": "-1h"}, 3),
    ],
    ids=["late ends, apart", "late ends", "relative offset", "relative time"],
)
def test_requests_grow_with_brokers_not_partitions(options: dict[str, str], positions: int) -> None:
    many = asked_for(2_000, options)
    assert many == asked_for(100, options)
    assert many[ListOffsetsRequest] == positions * NODES
