"""Faults under a running stream, with Spark and real brokers; it writes all that it reads to files.

The numbers are those of the list of faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_protocol.client.cluster.admin import NewTopic, create_topic, delete_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.integration.clients import connect, soon
from tests.integration.conftest import MakeTopic
from tests.stream_folder import StreamFolder
from tests.stream_records import Journal, Offsets, Record, expect_each_once

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SOON_SECONDS = 60
GO_ON = {"failOnDataLoss": "false"}


class Stream(NamedTuple):
    """A topic, the journal of its records, and queries that write all that they read to files."""

    spark: SparkSession
    kafka: KafkaCluster
    topic: str
    journal: Journal
    folder: StreamFolder

    @contextmanager
    def running(self, **options: str) -> Iterator[StreamingQuery]:
        """The query, started or continued, after it has read all records from the earliest on."""
        topics = {} if "subscribePattern" in options else {"subscribe": self.topic}
        given = {"startingOffsets": "earliest", **topics, **options}
        reader = self.spark.readStream.format("pykafka").options(**given)
        reader = reader.option("kafka.bootstrap.servers", self.kafka.bootstrap_servers)
        query = self.folder.start(reader.load())
        try:
            query.processAllAvailable()
            yield query
        finally:
            query.stop()

    def records(self) -> list[Record]:
        """What the queries read, in order."""
        return sorted(self.folder.records(self.spark))

    def is_at(self, ends: Offsets, batches: int = 1) -> bool:
        """Whether at least `batches` are finished and the last one ended at these offsets."""
        finished = self.folder.batches("commits")
        return len(finished) >= batches and self.folder.offsets(finished[-1]) == ends


def stream_of(spark: SparkSession, kafka: KafkaCluster, topic: str, folder: Path) -> Stream:
    return Stream(spark, kafka, topic, Journal(kafka.bootstrap_servers), StreamFolder(folder))


@pytest.fixture
def stream(
    spark: SparkSession, kafka_cluster: KafkaCluster, make_topic: MakeTopic, tmp_path: Path
) -> Stream:
    return stream_of(spark, kafka_cluster, make_topic(), tmp_path)


def expect_soon(query: StreamingQuery, condition: Callable[[], bool]) -> None:
    """Fail if the condition does not become true in time, or if the query ends."""
    assert Deadline(SOON_SECONDS).wait_for(lambda: not query.isActive or condition())
    assert query.isActive, query.exception()


# --- Brokers that restart -----------------------------------------------------------------------


@pytest.mark.slow
def test_fault_16_and_19_leaders_die_and_move_under_a_query(
    spark: SparkSession, three_brokers: KafkaCluster, tmp_path: Path
) -> None:
    """Each record is read once, while more records are written."""
    kafka = three_brokers
    stream = stream_of(spark, kafka, "moved", tmp_path)
    with closing(connect(kafka)) as client:
        create_topic(client, NewTopic("moved", 3, replication_factor=3), soon())
        with stream.running(maxOffsetsPerTrigger="100") as query:
            with stream.journal.writing("moved", writers=1, interval_seconds=0.05):
                for end in (kafka.kill, kafka.stop_node):
                    client.forget("moved")
                    leader = client.leader(TopicPartition("moved", 0), soon())[0].node_id
                    enough = len(stream.folder.batches()) + 3
                    end(leader)
                    expect_soon(query, partial(has_batches, stream.folder, enough))
                    kafka.start_node(leader)
            expect_soon(query, partial(stream.is_at, stream.journal.ends()))
    expect_each_once(stream.records(), stream.journal, {})


def has_batches(folder: StreamFolder, count: int) -> bool:
    return len(folder.batches()) >= count


# --- Topics that change --------------------------------------------------------------------------


def recreate(cluster: Cluster, topic: str) -> None:
    delete_topic(cluster, topic, soon())
    create_topic(cluster, NewTopic(topic), soon())


def test_fault_24_a_topic_is_recreated_under_a_query(stream: Stream, cluster: Cluster) -> None:
    """All records of the new topic are read, and no time-out has to pass before."""
    stream.journal.write(stream.topic, [0], 10)
    with stream.running(**GO_ON) as query:
        recreate(cluster, stream.topic)
        stream.journal.write(stream.topic, [0], 15)
        # One batch of the old topic, and one that only goes back to offset 0.
        expect_soon(query, partial(stream.is_at, {stream.topic: {0: 15}}, batches=3))
    assert stream.records() == sorted(stream.journal.records)


def test_fault_24_or_the_query_fails_before_it_logs_a_batch(
    stream: Stream, cluster: Cluster
) -> None:
    stream.journal.write(stream.topic, [0], 10)
    with stream.running() as query:
        recreate(cluster, stream.topic)
        with pytest.raises(StreamingQueryException, match=r"PARTITIONS_DELETED.*re-created"):
            query.awaitTermination(SOON_SECONDS)
    assert stream.folder.batches() == [0]


def test_fault_23_all_topics_of_a_pattern_are_deleted(
    stream: Stream, cluster: Cluster, make_topic: MakeTopic
) -> None:
    """All brokers lack them, so that neither of the two long time-outs passes."""
    prefix = f"{stream.topic}-"
    first, second = f"{prefix}1", f"{prefix}2"
    create_topic(cluster, NewTopic(first), soon())
    stream.journal.write(first, [0], 5)
    options = {
        "subscribePattern": f"^{prefix}",
        "kafka.default.api.timeout.ms": "3000",
        "kafka.topic.metadata.propagation.max.ms": "600000",
    }
    with stream.running(**options, **GO_ON) as query:
        delete_topic(cluster, first, soon())
        create_topic(cluster, NewTopic(second), soon())
        stream.journal.write(second, [0], 5)
        expect_soon(query, partial(stream.is_at, {second: {0: 5}}, batches=2))
    assert stream.records() == sorted(stream.journal.records)


@pytest.mark.core
def test_fault_25_partitions_are_added_under_a_query(stream: Stream) -> None:
    """They are read from the beginning, although the query started at the latest offset."""
    stream.journal.write(stream.topic, [0], 10)
    with stream.running(startingOffsets="latest") as query:
        stream.journal.add_partitions(stream.topic, 3)
        stream.journal.write(stream.topic, range(3), 5)
        expect_soon(query, partial(stream.is_at, stream.journal.ends()))
    expect_each_once(stream.records(), stream.journal, {stream.topic: {0: 10}})
