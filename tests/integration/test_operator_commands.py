"""The commands that look, and `txn abort`, with a real broker and real checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_protocol.client.producer.end_transactions import end
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transactions import TransactionFencedError, begin
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.fakes.log import batch_of
from tests.integration.clients import connected, soon
from tests.integration.command_line import Command, pykafka, topic
from tests.integration.conftest import run_stream
from tests.witness import produce, values_of

__all__ = ["pykafka", "topic"]  # fixtures

pytestmark = [pytest.mark.integration, pytest.mark.spark]


def copied(spark: SparkSession, servers: str, topic: str, checkpoint: Path) -> None:
    """A query reads what is there, and ends."""
    reader = spark.readStream.format("pykafka").option("kafka.bootstrap.servers", servers)
    rows = reader.options(subscribe=topic, startingOffsets="earliest").load()
    run_stream(rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint)))


def test_lag_and_checkpoint(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    pykafka: Command,
    topic: str,
    tmp_path: Path,
) -> None:
    place = str(tmp_path)
    copied(spark, kafka_cluster.bootstrap_servers, topic, tmp_path)
    assert "0 records behind" in pykafka("lag", place, "--fail-above", "0")
    produce(kafka_cluster.bootstrap_servers, topic, ["a5", "a6"])
    first, second = json.loads(pykafka("lag", place, "-o", "json"))
    assert (first["committed"], first["latest"], first["records"]) == (5, 7, 2)
    assert 0 <= first["behind_ms"] < 3_600_000
    assert (second["records"], second["behind_ms"], second["is_unfinished"]) == (0, 0, False)
    pykafka("lag", place, "--fail-above", "0", code=4)
    copied(spark, kafka_cluster.bootstrap_servers, topic, tmp_path)
    shown = json.loads(pykafka("checkpoint", "show", place, "-o", "json", connects=False))
    assert [(row["micro_batch"], row["offsets"]) for row in shown] == [(0, None), (1, 2)]
    moved = json.loads(pykafka("checkpoint", "diff", place, "0", "1", "-o", "json", connects=False))
    assert [(row["start"], row["end"]) for row in moved] == [(5, 7), (3, 3)]
    exported = pykafka("checkpoint", "export", place, "--micro-batch", "0", connects=False)
    assert json.loads(exported) == {topic: {"0": 5, "1": 3}}


def test_topics(pykafka: Command, topic: str) -> None:
    new = f"{topic}-new"
    assert pykafka("topics", "create", new, "--partitions", "3", "--config", "retention.ms=9") == (
        f"created {new!r}, partitions: 3, replicas of each: 1\n"
    )
    described = json.loads(pykafka("topics", "describe", new, "-o", "json"))
    assert described["configs"] == {"retention.ms": "9"}
    assert [each["leader"] for each in described["partitions"]] == [1, 1, 1]
    (row,) = (
        row for row in json.loads(pykafka("topics", "list", "-o", "json")) if row["topic"] == topic
    )
    assert (row["partitions"], row["offsets"], row["under_replicated"]) == (2, 8, 0)
    assert row["size"] > 0
    names = pykafka("topics", "list", "--names").splitlines()
    assert {topic, new} <= {*names}
    assert names == sorted(names)
    pykafka("topics", "delete", new, code=1)  # nobody says yes
    assert pykafka("topics", "delete", new, "--yes") == f"deleted {new!r}\n"
    pykafka("topics", "describe", new, code=1)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in pykafka.errors


def test_an_open_transaction(pykafka: Command, kafka_cluster: KafkaCluster, topic: str) -> None:
    """Readers of committed records wait for it, until it is aborted."""
    name = f"{topic}-copy-0-0"
    with connected(kafka_cluster.client_options) as cluster:
        transaction = begin(cluster, name, soon())
        producer = Producer(cluster, transaction)
        producer.add(TopicPartition(topic, 1), batch_of(b"hidden"))
        producer.flush()
        (found,) = json.loads(pykafka("txn", "list", "--prefix", topic, "-o", "json"))
        assert (found["transactional_id"], found["partitions"]) == (name, 1)
        assert (found["waiting"], found["decided"]) == (1, "no")
        assert 0 < found["ends_in_ms"] <= found["timeout_ms"]
        assert found["held"] == [
            {"topic": topic, "partition": 1, "last_stable": 3, "latest": 4, "waiting": 1}
        ]
        pykafka("txn", "abort", name, code=1)
        assert "nothing was aborted" in pykafka.errors
        assert pykafka("txn", "abort", name, "--yes") == f"aborted {name!r}\n"
        assert json.loads(pykafka("txn", "list", "--prefix", topic, "-o", "json")) == []
        with pytest.raises(TransactionFencedError):
            end(cluster, transaction, soon(), committed=True)
    assert values_of(kafka_cluster.bootstrap_servers, topic, 1) == ["b0", "b1", "b2"]
