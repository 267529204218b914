"""Kafka -> Spark -> Kafka on three real brokers that die: lost, twice, out of order must be none.

The numbers are those of the list of faults. The witness that reads the result is librdkafka.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.waiting import Deadline
from tests.integration.conftest import connect
from tests.integration.test_read_faults import soon
from tests.stream_records import Journal, expect_same
from tests.witness import values_of

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SOON_SECONDS = 180
PARTITIONS = 3
COPIES: dict[str, dict[str, str]] = {
    "at-least-once": {},
    "once": {"deliveryGuarantee": "exactly_once", "transactionalIdPrefix": "once"},
}
# Another leader is elected soon.
QUICK = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "300"}


@pytest.fixture
def kafka() -> Iterator[KafkaCluster]:
    """Topics that two of three brokers must keep."""
    with KafkaCluster(nodes=3, config=QUICK) as kafka:
        client = connect(kafka)
        compacted = {"pykafka-commit-log": {"cleanup.policy": "compact"}}
        for name in ("source", *COPIES, *compacted):
            configs = {"min.insync.replicas": "2", **compacted.get(name, {})}
            topic = NewTopic(name, PARTITIONS, replication_factor=3, configs=configs)
            create_topic(client, topic, soon())
        client.close()
        yield kafka


@contextmanager
def copying(
    spark: SparkSession, kafka: KafkaCluster, folder: Path, name: str
) -> Iterator[StreamingQuery]:
    """A query that writes each record to the partition that it came from."""
    servers = {"kafka.bootstrap.servers": kafka.bootstrap_servers}
    reader = spark.readStream.format("pykafka").options(**servers, subscribe="source")
    records = reader.option("startingOffsets", "earliest").load()
    writer = records.select("value", "partition").writeStream.format("pykafka")
    writer = writer.options(**servers, topic=name, **COPIES[name])
    query = writer.option("checkpointLocation", str(folder / name)).start()
    try:
        yield query
    finally:
        query.stop()


def last_batch(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return 0 if progress is None else progress.batchId


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("deaths", [2, pytest.param(15, marks=pytest.mark.slow)])
def test_fault_19_42_and_49_brokers_die_under_copies(
    spark: SparkSession, kafka: KafkaCluster, tmp_path: Path, deaths: int
) -> None:
    """The leader of each partition in its turn, and with it coordinators of transactions."""
    journal = Journal(kafka.bootstrap_servers)
    with ExitStack() as stack:
        client = stack.enter_context(closing(connect(kafka)))
        queries = [stack.enter_context(copying(spark, kafka, tmp_path, name)) for name in COPIES]
        with journal.writing("source", writers=1, interval_seconds=0.005):
            for death in range(deaths):
                client.forget("once")
                place = TopicPartition("once", death % PARTITIONS)
                leader = client.leader(place, soon())[0].node_id
                enough = [last_batch(query) + 2 for query in queries]
                kafka.kill(leader)
                # While it is down, and not only before.
                assert Deadline(SOON_SECONDS).wait_for(partial(have_written, queries, enough)), [
                    (query.lastProgress, query.status) for query in queries
                ]
                kafka.start_node(leader)
        for query in queries:
            query.processAllAvailable()
    servers = kafka.bootstrap_servers
    for partition in range(PARTITIONS):
        source = values_of(servers, "source", partition)
        # In the order in which they were acknowledged, which is that of the partition. What was on
        # its way to a leader that died may be there twice: librdkafka's issue 4953.
        written = [each.value for each in journal.records if each.partition == partition]
        assert [*dict.fromkeys(source)] == written
        for name in COPIES:
            copied = values_of(servers, name, partition)
            expect_same(copied, source, f"{name}-{partition}")
            assert copied == source, name


def have_written(queries: list[StreamingQuery], batches: list[int]) -> bool:
    for query in queries:
        assert query.isActive, query.exception()
    return all(last_batch(query) >= batch for query, batch in zip(queries, batches, strict=True))
