"""A declarative pipeline: a streaming table that reads a topic, and a sink that writes another."""

from __future__ import annotations

import pytest

from kafka_spark_source.testing import KafkaCluster
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


def test_the_example() -> None:
    """One run: Spark's own catalog in memory forgets the table, so a second one needs Hive's."""
    # Brokers of its own: the names of the topics are those of other examples.
    with KafkaCluster() as brokers:
        for topic in ("orders", "large-orders"):
            brokers.create_topic(topic)
        run_example("examples/run_pipeline.py", "--servers", brokers.bootstrap_servers)
        records = records_of(brokers.bootstrap_servers, "large-orders", 0)
    assert [value for _, value in records] == ["100", "250"]
