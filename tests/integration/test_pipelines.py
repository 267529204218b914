"""A declarative pipeline: a streaming table that reads a topic, and a sink that writes another."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from confluent_kafka import Producer as Librdkafka

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_spark_source.testing import KafkaCluster
from tests.integration.clients import soon
from tests.own_process import ROOT, run_command
from tests.standalone import SPARK_BIN
from tests.witness import records_of

# Since PySpark 4.1, but its dependencies are those of the newest release.
pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.newest,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


def test_the_example(tmp_path: Path, kafka_cluster: KafkaCluster, cluster: Cluster) -> None:
    """One run: Spark's own catalog in memory forgets the table, so a second one needs Hive's."""
    for topic in ("orders", "large-orders"):
        create_topic(cluster, NewTopic(topic), soon())
    shutil.copytree(ROOT / "examples" / "pipeline", tmp_path / "pipeline")
    spec = tmp_path / "pipeline" / "spark-pipeline.yml"
    written_there = spec.read_text()
    assert "/tmp/pykafka-pipeline" in written_there
    spec.write_text(written_there.replace("/tmp/pykafka-pipeline", str(tmp_path / "storage")))
    servers = kafka_cluster.bootstrap_servers
    producer = Librdkafka({"bootstrap.servers": servers})
    for amount in ("7", "100", "250", "99"):
        producer.produce("orders", amount, "ann")
    assert producer.flush(30) == 0
    command = [str(SPARK_BIN / "spark-pipelines"), "run", "--spec", str(spec)]
    run_command(tmp_path, command, KAFKA_SERVERS=servers)
    assert [value for _, value in records_of(servers, "large-orders", 0)] == ["100", "250"]
