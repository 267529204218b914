"""A cluster of three brokers in virtual time, with the topic `t`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.kafka.cluster import SimulatedCluster
from tests.simulation.kafka.requests import TP
from tests.simulation.kafka.world import Client, VirtualTime

Connect = Callable[..., Client]


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime()


@pytest.fixture
def cluster(time: VirtualTime) -> SimulatedCluster:
    cluster = SimulatedCluster(time)
    cluster.create_topic("t")
    time.run(100)
    return cluster


@pytest.fixture
def connect(cluster: SimulatedCluster, time: VirtualTime) -> Connect:
    """`connect(node)`: a client of a broker, by default of the leader of `t-0`."""

    def open_(node: int | None = None) -> Client:
        return Client(cluster, time, cluster.leader(TP) if node is None else node)

    return open_
