"""A declarative pipeline: a streaming table that reads a topic, and a sink that writes another."""

from __future__ import annotations

import pytest

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_spark_source.testing import KafkaCluster
from tests.integration.clients import soon
from tests.integration.example_processes import run_example
from tests.witness import records_of

# Since PySpark 4.1, but its dependencies are those of the newest release.
pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.newest,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


def test_the_example(kafka_cluster: KafkaCluster, cluster: Cluster) -> None:
    """One run: Spark's own catalog in memory forgets the table, so a second one needs Hive's."""
    for topic in ("orders", "large-orders"):
        create_topic(cluster, NewTopic(topic), soon())
    servers = kafka_cluster.bootstrap_servers
    run_example("examples/run_pipeline.py", "--servers", servers)
    assert [value for _, value in records_of(servers, "large-orders", 0)] == ["100", "250"]
