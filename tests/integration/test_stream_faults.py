"""Faults under a running stream, on real brokers and with Spark, into files that tell all it read.

The numbers are those of the list of faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer as Librdkafka
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from kafka_protocol.client.cluster.admin import NewTopic, create_topic, delete_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.waiting import Deadline
from tests.fakes.reading import write
from tests.integration.conftest import MakeTopic, connect
from tests.integration.test_read_faults import soon
from tests.integration.test_read_faults_loss import delete_records
from tests.stream_folder import StreamFolder
from tests.stream_records import Journal, Offsets, expect_each_once

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SOON_SECONDS = 60
GO_ON = {"failOnDataLoss": "false"}

Load = Callable[..., DataFrame]


@pytest.fixture
def load(spark: SparkSession, servers: dict[str, str]) -> Load:
    """`load(subscribe=topic, ...)`: a stream from the earliest offset on."""

    def load_stream(**options: str) -> DataFrame:
        given = {"startingOffsets": "earliest", **servers, **options}
        return spark.readStream.format("pykafka").options(**given).load()

    return load_stream


@pytest.fixture
def folder(tmp_path: Path) -> StreamFolder:
    return StreamFolder(tmp_path)


@contextmanager
def running(df: DataFrame, folder: StreamFolder) -> Iterator[StreamingQuery]:
    """The query, which goes on where it was and has read all that there is."""
    query = folder.start(df)
    try:
        query.processAllAvailable()
        yield query
    finally:
        query.stop()


def expect_soon(query: StreamingQuery, condition: Callable[[], bool]) -> None:
    """Fails where a condition does not come true, or the query ends."""
    assert Deadline(SOON_SECONDS).wait_for(lambda: not query.isActive or condition())
    assert query.isActive, query.exception()


def is_done_up_to(ends: Offsets, folder: StreamFolder, batches: int = 1) -> Callable[[], bool]:
    """Whether so many batches are finished, and the last one ended there."""

    def is_done() -> bool:
        finished = folder.batches("commits")
        return len(finished) >= batches and folder.offsets(finished[-1]) == ends

    return is_done


# --- Brokers that go and come --------------------------------------------------------------------


def test_fault_19_the_only_broker_is_restarted_under_a_running_query(
    spark: SparkSession, load: Load, folder: StreamFolder
) -> None:
    """The query waits, without an error, and misses nothing."""
    with KafkaCluster() as kafka:
        client = connect(kafka)
        create_topic(client, NewTopic("restarted", 2), soon())
        client.close()
        journal = Journal(kafka.bootstrap_servers)
        journal.write("restarted", range(2))
        df = load(subscribe="restarted", **{"kafka.bootstrap.servers": kafka.bootstrap_servers})
        with running(df, folder) as query:
            for end in (kafka.stop_node, kafka.kill):
                end(1)
                kafka.start_node(1)
                journal.write("restarted", range(2))
                expect_soon(query, is_done_up_to(journal.ends(), folder))
        expect_each_once(folder.records(spark), journal, {})


def test_fault_16_and_19_leaders_die_and_move_under_a_running_query(
    spark: SparkSession, load: Load, folder: StreamFolder
) -> None:
    """While records are written; at the end each is there once."""
    config = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "300"}
    with KafkaCluster(nodes=3, config=config) as kafka:
        client = connect(kafka)
        create_topic(client, NewTopic("moved", 3, replication_factor=3), soon())
        journal = Journal(kafka.bootstrap_servers)
        options = {
            "kafka.bootstrap.servers": kafka.bootstrap_servers,
            "maxOffsetsPerTrigger": "100",
        }
        with running(load(subscribe="moved", **options), folder) as query:
            with journal.writing("moved", writers=1, interval_seconds=0.05):
                for end in (kafka.kill, kafka.stop_node):
                    client.forget("moved")
                    leader = client.leader(TopicPartition("moved", 0), soon())[0].node_id
                    enough = len(folder.batches()) + 3
                    end(leader)
                    expect_soon(query, lambda enough=enough: len(folder.batches()) >= enough)
                    kafka.start_node(leader)
            expect_soon(query, is_done_up_to(journal.ends(), folder))
        client.close()
        expect_each_once(folder.records(spark), journal, {})


# --- Topics that change --------------------------------------------------------------------------


def create_anew(cluster: Cluster, topic: str) -> None:
    delete_topic(cluster, topic, soon())
    create_topic(cluster, NewTopic(topic), soon())


# Fewer records than there were, as many, more.
@pytest.mark.parametrize("count", [3, 10, 15])
def test_fault_24_a_topic_is_created_anew_under_a_running_query(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    cluster: Cluster,
    make_topic: MakeTopic,
    load: Load,
    folder: StreamFolder,
    count: int,
) -> None:
    """All of the new one is read, from its beginning, at once: no time-out has to pass."""
    topic = make_topic()
    journal = Journal(kafka_cluster.bootstrap_servers)
    journal.write(topic, [0], 10)
    with running(load(subscribe=topic, **GO_ON), folder) as query:
        create_anew(cluster, topic)
        journal.write(topic, [0], count)
        # One batch before, and one that only moves back.
        expect_soon(query, is_done_up_to({topic: {0: count}}, folder, batches=3))
    assert sorted(folder.records(spark)) == sorted(journal.records)


def test_fault_24_or_the_query_ends_with_an_error_before_it_logs_anything(
    kafka_cluster: KafkaCluster,
    cluster: Cluster,
    make_topic: MakeTopic,
    load: Load,
    folder: StreamFolder,
) -> None:
    topic = make_topic()
    journal = Journal(kafka_cluster.bootstrap_servers)
    journal.write(topic, [0], 10)
    with running(load(subscribe=topic), folder) as query:
        create_anew(cluster, topic)
        with pytest.raises(StreamingQueryException, match=r"PARTITIONS_DELETED.*re-created"):
            query.awaitTermination(SOON_SECONDS)
    assert folder.batches() == [0]


def test_fault_23_a_topic_of_a_pattern_is_deleted_under_a_running_query(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    cluster: Cluster,
    make_topic: MakeTopic,
    load: Load,
    folder: StreamFolder,
) -> None:
    """An error that is told before anything is logged; then a query that goes on without it."""
    kept, gone = make_topic(), make_topic()
    journal = Journal(kafka_cluster.bootstrap_servers)
    journal.write(kept, [0])
    journal.write(gone, [0])
    options = {
        "subscribePattern": f"{kept}|{gone}",
        "kafka.topic.metadata.propagation.max.ms": "500",
    }
    with running(load(**options), folder) as query:
        delete_topic(cluster, gone, soon())
        with pytest.raises(StreamingQueryException, match=rf"PARTITIONS_DELETED.*{gone}-0"):
            query.awaitTermination(SOON_SECONDS)
    assert folder.batches() == [0]
    journal.write(kept, [0])
    with running(load(**options, **GO_ON), folder):
        pass
    assert sorted(folder.records(spark)) == sorted(journal.records)
    assert list(folder.offsets(1)) == [kept]


def test_fault_25_partitions_are_added_under_a_running_query(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    make_topic: MakeTopic,
    load: Load,
    folder: StreamFolder,
) -> None:
    """They are read from their beginning, though the query started at the end."""
    topic = make_topic()
    journal = Journal(kafka_cluster.bootstrap_servers)
    journal.write(topic, [0], 10)
    with running(load(subscribe=topic, startingOffsets="latest"), folder) as query:
        journal.add_partitions(topic, 3)
        journal.write(topic, range(3), 5)
        expect_soon(query, is_done_up_to(journal.ends(), folder))
    expect_each_once(folder.records(spark), journal, {topic: {0: 10}})


# --- Records that are gone, or not there yet -----------------------------------------------------


def test_fault_27_retention_passes_a_query_by(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    cluster: Cluster,
    make_topic: MakeTopic,
    load: Load,
    folder: StreamFolder,
) -> None:
    """An error, again at the next start; then a query that goes on with what is there."""
    topic = make_topic()
    journal = Journal(kafka_cluster.bootstrap_servers)
    journal.write(topic, [0], 5)
    with running(load(subscribe=topic), folder):
        pass
    journal.write(topic, [0], 10)
    delete_records(cluster, topic, 8)
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match=rf"\[5, 15\).*{topic}-0"):
            with running(load(subscribe=topic), folder):
                pass
    with running(load(subscribe=topic, **GO_ON), folder):
        pass
    offsets = [record.offset for record in sorted(folder.records(spark))]
    assert offsets == [*range(5), *range(8, 15)]


@pytest.mark.parametrize("commits", [True, False], ids=["commits", "aborts"])
def test_fault_36_an_open_transaction_under_a_running_query(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    cluster: Cluster,
    make_topic: MakeTopic,
    load: Load,
    folder: StreamFolder,
    commits: bool,
) -> None:
    """Nothing behind its beginning is read; the query goes on when it ends."""
    topic = make_topic()
    partition = TopicPartition(topic, 0)
    write(cluster, b"before", topic_partition=partition)
    options = {"bootstrap.servers": kafka_cluster.bootstrap_servers}
    producer = Librdkafka({**options, "transactional.id": f"open-{topic}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    assert producer.flush(30) == 0
    write(cluster, b"behind", topic_partition=partition)

    def values() -> list[str]:
        return [record.value for record in sorted(folder.records(spark))]

    committed = {"kafka.isolation.level": "read_committed"}
    with running(load(subscribe=topic, **committed), folder) as query:
        assert values() == ["before"]
        assert folder.offsets(folder.batches()[-1]) == {topic: {0: 1}}
        end = producer.commit_transaction if commits else producer.abort_transaction
        end(30)
        # Before it, in it, behind it, and the marker of its end.
        expect_soon(query, is_done_up_to({topic: {0: 4}}, folder))
        opened = ["open"] if commits else []
        assert values() == ["before", *opened, "behind"]
