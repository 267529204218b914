"""Three simulated and three real brokers behind one face, for scripts in which leaders move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_spark_source.testing import KafkaCluster
from tests.simulation.kafka.peers import (
    Notes,
    Peer,
    RealPeer,
    SimulatedPeer,
    ask_until,
    simulated_cluster,
)

NODES = (1, 2, 3)


class Trio(Protocol):
    """Three brokers; `peers` has each of them by its node id."""

    @property
    def notes(self) -> Notes:
        """The answers of all three."""

    @property
    def peers(self) -> Mapping[int, Peer]:
        """The brokers by node id."""

    def stop(self, node: int) -> None:
        """Shut a broker down."""

    def start(self, node: int) -> None:
        """Start it again."""


class SimulatedTrio:
    """Three simulated brokers."""

    def __init__(self, release: str) -> None:
        self.notes = Notes()
        self._cluster = simulated_cluster(len(NODES), release)
        self.peers = {
            node: SimulatedPeer(release, node, self._cluster, self.notes) for node in NODES
        }

    def stop(self, node: int) -> None:
        self._cluster.stop(node)

    def start(self, node: int) -> None:
        self._cluster.start(node)
        self.peers[node].pause(100)


class RealTrio:
    """Three real brokers."""

    def __init__(self, kafka: KafkaCluster) -> None:
        self.notes = Notes()
        self._kafka = kafka
        addresses = kafka.bootstrap_servers.split(",")
        self.peers = {
            node: RealPeer(address, self.notes)
            for node, address in zip(NODES, addresses, strict=True)
        }

    def stop(self, node: int) -> None:
        self.peers[node].close()
        self._kafka.stop_node(node)

    def start(self, node: int) -> None:
        self._kafka.start_node(node)


@contextmanager
def real_trio(kafka: KafkaCluster) -> Iterator[RealTrio]:
    trio = RealTrio(kafka)
    try:
        yield trio
    finally:
        for peer in trio.peers.values():
            peer.close()


def leader_of(trio: Trio, topic: str, asked: int, *, in_sync: int, but: int = -1) -> int:
    """The leader of the only partition, once so many replicas are in sync; not compared."""

    def is_settled(response: MetadataResponse) -> bool:
        (found,) = response.topics
        return not found.error_code and all(
            partition.leader_id not in (-1, but) and len(partition.isr_nodes) == in_sync
            for partition in found.partitions
        )

    wanted = MetadataRequest.MetadataRequestTopic(name=topic)
    request = MetadataRequest(topics=[wanted], allow_auto_topic_creation=False)
    count = len(trio.notes.answers)
    response = ask_until(trio.peers[asked], request, MetadataResponse, is_settled)
    del trio.notes.answers[count:]
    return int(response.topics[0].partitions[0].leader_id)
