"""Changes of a fake cluster under a read of t-0: of its leader, and faults that pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.metadata import MetadataResponse
from kafka_protocol.wire.schema import Request
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.fakes.reading import PARTITION

Change: TypeAlias = Callable[[FakeCluster], object]


def leader_of(cluster: FakeCluster) -> int:
    return cluster.leader(PARTITION)


def moves(cluster: FakeCluster) -> None:
    cluster.move_leader(PARTITION, leader_of(cluster) % 3 + 1)


def comes_back(cluster: FakeCluster) -> None:
    """On another port; its connections and the responses on them are lost."""
    cluster.stop(leader_of(cluster))
    cluster.start(leader_of(cluster))


def dies_and_another_leads(cluster: FakeCluster) -> None:
    dead = leader_of(cluster)
    cluster.stop(dead)
    moves(cluster)
    cluster.start(dead)


LEADER_CHANGES: Final = (moves, comes_back, dies_and_another_leads)


def spoiled(kind: type[Request], fault: faults.Fault, times: int = 2) -> Change:
    """The next responses of a kind have a fault."""
    return lambda cluster: cluster.add_fault(kind, fault, count=times)


def refused(kind: type[Request], error: ErrorCode) -> Change:
    """The next three requests of a kind are refused."""
    return lambda cluster: cluster.add_fault(kind, error=error, count=3)


def leaderless(response: MetadataResponse) -> None:
    """The response during an election."""
    for topic in response.topics:
        for row in topic.partitions:
            row.leader_id, row.error_code = -1, int(ErrorCode.LEADER_NOT_AVAILABLE)


def without_topics(response: MetadataResponse) -> None:
    """The response of a broker that does not know the topics yet."""
    for topic in response.topics:
        topic.error_code = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        topic.partitions.clear()
