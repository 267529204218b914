"""Simulated and real brokers answer the same scripts of requests alike.

`peers.LEFT_OUT` lists the fields that are not compared. What else differs from real brokers, and no
script shows:

- ApiVersions names fewer APIs: those that the client sends, and some more. Nothing asks for others.
- Rows of partitions are in the order of the request; real ones are in that of a hash map, so they
  are compared sorted.
- Fetch sessions (KIP-227) are never granted, as by a broker whose cache is full: the client opens
  none. Clients join no groups: the members of a group are data that a test gives.
- Batches of magic 2 are not converted for versions of Fetch below 4: the client asks for none.
- The state of producers is made from the log at a start. Real brokers keep snapshots, and so know
  producers whose records are all deleted.
- Leaders are not balanced again after a while: scenarios call `elect`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.simulation.kafka.peers import SimulatedPeer, real_peer
from tests.simulation.kafka.scripts.table import (
    OLD_SCRIPTS,
    SCRIPTS,
    TRIO_SCRIPTS,
    Script,
    TrioScript,
)
from tests.simulation.kafka.trios import SimulatedTrio, real_trio


@pytest.fixture(scope="module")
def kafka_cluster(kafka_cluster_factory: ClusterFactory) -> KafkaCluster:
    """The broker that the tests of `tests/integration` use, if they run in the same session."""
    config = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
    return kafka_cluster_factory(config=config)


@pytest.fixture(scope="module")
def own_clusters() -> Iterator[ClusterFactory]:
    """Starts clusters that end with this module."""
    with ExitStack() as clusters:
        yield ClusterFactory(clusters)


_numbers = itertools.count(1)


def _compare(kafka: KafkaCluster, release: str, script: Script) -> None:
    topic = f"script-{next(_numbers)}"
    simulated = SimulatedPeer(release)
    script(simulated, topic)
    with real_peer(kafka.bootstrap_servers) as real:
        script(real, topic)
    assert simulated.notes.answers == real.notes.answers


@pytest.mark.integration
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_a_simulated_broker_answers_as_a_real_one(
    kafka_cluster: KafkaCluster, script: Script
) -> None:
    _compare(kafka_cluster, "4.4", script)


@pytest.fixture(scope="module")
def three_brokers(own_clusters: ClusterFactory) -> KafkaCluster:
    config = {"auto.leader.rebalance.enable": "false"}
    return own_clusters(nodes=3, config=config)


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("script", TRIO_SCRIPTS, ids=lambda script: script.__name__)
def test_three_simulated_brokers_answer_as_three_real_ones(
    three_brokers: KafkaCluster, script: TrioScript
) -> None:
    topic = f"script-{next(_numbers)}"
    simulated = SimulatedTrio("4.4")
    script(simulated, topic)
    with real_trio(three_brokers) as real:
        script(real, topic)
    assert simulated.notes.answers == real.notes.answers


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("script", OLD_SCRIPTS, ids=lambda script: script.__name__)
def test_a_simulated_broker_of_0_10_answers_as_a_real_one(
    kafka_cluster_factory: ClusterFactory, script: Script
) -> None:
    _compare(kafka_cluster_factory("0.10.2.2"), "0.10.2", script)
