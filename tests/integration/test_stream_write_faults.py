"""Kafka -> Spark -> Kafka on three real brokers that die: lost, twice, out of order must be none.

The numbers are those of the list of faults. The witness that reads the result is librdkafka.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as WitnessPartition
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from kafka_protocol.client.admin import NewTopic, create_topic
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.waiting import Deadline
from tests.integration.conftest import connect
from tests.integration.test_read_faults import soon
from tests.stream_records import Journal

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SOON_SECONDS = 60
PARTITIONS = 3
DEATHS = 5
# Another leader is elected soon.
QUICK = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "300"}


@pytest.fixture
def kafka() -> Iterator[KafkaCluster]:
    """The topics `source` and `copy`, which two of three brokers must keep."""
    with KafkaCluster(nodes=3, config=QUICK) as kafka:
        client = connect(kafka)
        for name in ("source", "copy"):
            configs = {"min.insync.replicas": "2"}
            topic = NewTopic(name, PARTITIONS, replication_factor=3, configs=configs)
            create_topic(client, topic, soon())
        client.close()
        yield kafka


@contextmanager
def copying(spark: SparkSession, kafka: KafkaCluster, folder: Path) -> Iterator[StreamingQuery]:
    """A query that writes each record to the partition that it came from."""
    servers = {"kafka.bootstrap.servers": kafka.bootstrap_servers}
    reader = spark.readStream.format("pykafka").options(**servers, subscribe="source")
    records = reader.option("startingOffsets", "earliest").load()
    writer = records.select("value", "partition").writeStream.format("pykafka")
    writer = writer.options(**servers, topic="copy").option("checkpointLocation", folder)
    query = writer.start()
    try:
        yield query
    finally:
        query.stop()


def last_batch(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return 0 if progress is None else progress.batchId


def values_of(kafka: KafkaCluster, topic: str, partition: int) -> list[str]:
    """All that is there, in its order."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "witness",
            "isolation.level": "read_committed",
        }
    )
    try:
        place = WitnessPartition(topic, partition, 0)
        _, end = consumer.get_watermark_offsets(place, SOON_SECONDS)
        consumer.assign([place])
        values: list[str] = []
        while consumer.position([place])[0].offset < end:
            messages = consumer.consume(10_000, timeout=1)
            assert not any(message.error() for message in messages)
            values += [(message.value() or b"").decode() for message in messages]
            if not end:
                break
        return values
    finally:
        consumer.close()


def test_fault_19_and_42_brokers_die_under_a_copy(
    spark: SparkSession, kafka: KafkaCluster, tmp_path: Path
) -> None:
    client = connect(kafka)
    journal = Journal(kafka.bootstrap_servers)
    with copying(spark, kafka, tmp_path) as query:
        with journal.writing("source", writers=1, interval_seconds=0.005):
            for death in range(DEATHS):
                client.forget("copy")
                place = TopicPartition("copy", death % PARTITIONS)
                leader = client.leader(place, soon())[0].node_id
                enough = last_batch(query) + 3
                kafka.kill(leader)
                # While it is down, and not only before.
                assert Deadline(SOON_SECONDS).wait_for(
                    lambda enough=enough: not query.isActive or last_batch(query) >= enough
                )
                assert query.isActive, query.exception()
                kafka.start_node(leader)
        query.processAllAvailable()
    client.close()
    for partition in range(PARTITIONS):
        written = sorted(each for each in journal.records if each.partition == partition)
        assert values_of(kafka, "copy", partition) == [each.value for each in written]
