"""Simulated and real brokers answer the same scripts of requests alike."""

from __future__ import annotations

import itertools

import pytest

from kafka_spark_source.testing import KafkaCluster
from tests.simulation.kafka.peers import SimulatedPeer, real_peer
from tests.simulation.kafka.scripts import SCRIPTS, Script

_numbers = itertools.count(1)


@pytest.mark.integration
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_a_simulated_broker_answers_as_a_real_one(
    kafka_cluster: KafkaCluster, script: Script
) -> None:
    topic = f"script-{next(_numbers)}"
    simulated = SimulatedPeer("4.3")
    script(simulated, topic)
    with real_peer(kafka_cluster.bootstrap_servers) as real:
        script(real, topic)
    assert simulated.notes.answers == real.notes.answers
