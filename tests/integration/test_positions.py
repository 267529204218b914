"""Start, end and number of tasks of a batch read, through Spark."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer as Librdkafka
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic, Read

pytestmark = [pytest.mark.integration, pytest.mark.spark]

START_MS = 1_760_000_000_000
STEP_MS = 1_000

Fill = Callable[[str, int, int], None]


@pytest.fixture
def fill(kafka_cluster: KafkaCluster) -> Fill:
    """`fill(topic, partition, count)`: record n is n seconds later than the first."""

    def produce(topic: str, partition: int, count: int, start_ms: int = START_MS) -> None:
        producer = Librdkafka({"bootstrap.servers": kafka_cluster.bootstrap_servers})
        for number in range(count):
            time_ms = start_ms + number * STEP_MS
            producer.produce(topic, b"%d" % number, None, partition, timestamp=time_ms)
        assert producer.flush(30) == 0

    return produce


def offsets_of(df: DataFrame) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row in df.select("partition", "offset").orderBy("partition", "offset").collect():
        found.setdefault(row["partition"], []).append(row["offset"])
    return found


def error_of(query: Callable[[], Any]) -> str:
    with pytest.raises(PySparkException) as caught:
        query()
    return str(caught.value)


def at(number: int) -> int:
    return START_MS + number * STEP_MS


def test_timestamps(read: Read, make_topic: MakeTopic, fill: Fill) -> None:
    topic = make_topic(partitions=2)
    fill(topic, 0, 10)
    fill(topic, 1, 6)

    def offsets(**options: object) -> dict[int, list[int]]:
        return offsets_of(read(subscribe=topic, **options))

    assert offsets(startingTimestamp=at(4)) == {0: [4, 5, 6, 7, 8, 9], 1: [4, 5]}
    assert offsets(startingTimestamp=at(4) - 1, endingTimestamp=at(5) + 1) == {0: [4, 5], 1: [4, 5]}
    each = {"0": at(7), "1": at(2)}
    assert offsets(startingOffsetsByTimestamp=json.dumps({topic: each})) == {
        0: [7, 8, 9],
        1: [2, 3, 4, 5],
    }
    # Partition 1 has no record of that time or later: it is read to its end.
    ending = json.dumps({topic: {"0": at(2), "1": at(99)}})
    assert offsets(endingOffsetsByTimestamp=ending) == {0: [0, 1], 1: [*range(6)]}


def test_a_starting_timestamp_without_a_match(
    read: Read, make_topic: MakeTopic, fill: Fill
) -> None:
    topic = make_topic(partitions=2)
    fill(topic, 0, 10)
    fill(topic, 1, 6)
    late = {"subscribe": topic, "startingTimestamp": str(at(8))}
    assert (
        f"No offset matched from request of topic-partition {topic}-1 and timestamp {at(8)}"
        in error_of(read(**late).collect)
    )
    lenient = read(**late, startingOffsetsByTimestampStrategy="Latest")
    assert offsets_of(lenient) == {0: [8, 9]}


@pytest.mark.core
def test_relative_starts(
    kafka_cluster: KafkaCluster, read: Read, make_topic: MakeTopic, fill: Fill
) -> None:
    topic = make_topic()
    fill(topic, 0, 5)
    producer = Librdkafka({"bootstrap.servers": kafka_cluster.bootstrap_servers})
    for _ in range(3):
        producer.produce(topic, b"now")
    assert producer.flush(30) == 0
    assert offsets_of(read(subscribe=topic, startingOffsets="-10m")) == {0: [5, 6, 7]}
    assert offsets_of(read(subscribe=topic, startingOffsets="latest-2")) == {0: [6, 7]}
    assert offsets_of(read(subscribe=topic, startingOffsets="latest-99")) == {0: [*range(8)]}
    mixed = json.dumps({topic: {"0": "latest-1"}})
    assert offsets_of(read(subscribe=topic, startingOffsets=mixed)) == {0: [7]}
    assert offsets_of(read(subscribe=topic, endingOffsets="latest-6")) == {0: [0, 1]}


def test_whole_topics_by_name(read: Read, make_topic: MakeTopic, fill: Fill) -> None:
    first, second = make_topic(partitions=2), make_topic()
    for topic, partition in ((first, 0), (first, 1), (second, 0)):
        fill(topic, partition, 3)
    starting = json.dumps({first: "earliest", second: {"0": 2}})
    rows = read(subscribe=f"{first},{second}", startingOffsets=starting).groupBy("topic").count()
    assert {row["topic"]: row["count"] for row in rows.collect()} == {first: 6, second: 1}


def test_the_same_data_frame_reads_new_records(
    read: Read, make_topic: MakeTopic, fill: Fill
) -> None:
    topic = make_topic(partitions=2)
    fill(topic, 0, 3)
    df = read(subscribe=topic)
    assert df.count() == 3
    fill(topic, 1, 2)
    assert df.count() == 5


def test_the_task_finds_the_latest_offset(
    spark: SparkSession, read: Read, make_topic: MakeTopic, fill: Fill
) -> None:
    """Records that were written after planning are read."""
    topic = make_topic()
    fill(topic, 0, 3)
    planned = read(subscribe=topic, endingOffsets="latest").rdd
    assert planned.getNumPartitions() == 1
    fill(topic, 0, 2)
    assert planned.count() == 5
    fixed = read(subscribe=topic, endingTimestamp=str(at(99))).rdd
    assert fixed.getNumPartitions() == 1
    fill(topic, 0, 2)
    assert fixed.count() == 5


@pytest.mark.parametrize(
    ("name", "value", "tasks"),
    [("minPartitions", 4, 4), ("minPartitions", 2, 2), ("maxRecordsPerPartition", 10, 3)],
)
def test_hot_partitions_are_split(
    read: Read, make_topic: MakeTopic, fill: Fill, name: str, value: int, tasks: int
) -> None:
    topic = make_topic(partitions=2)
    fill(topic, 0, 4)
    fill(topic, 1, 20)
    df = read(subscribe=topic, **{name: value})
    assert offsets_of(df) == {0: [*range(4)], 1: [*range(20)]}
    assert df.rdd.getNumPartitions() == tasks
    assert df.select(F.spark_partition_id()).distinct().count() == tasks


def test_an_empty_partition_is_a_task_without_splitting(read: Read, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    assert read(subscribe=topic, coalescePartitions="false").rdd.getNumPartitions() == 3
    assert read(subscribe=topic).rdd.getNumPartitions() == 1
    assert read(subscribe=topic, minPartitions="5").collect() == []


def test_assigned_partitions_that_do_not_exist(
    read: Read, make_topic: MakeTopic, fill: Fill
) -> None:
    """Refused; Spark's own connector silently ignores them."""
    topic = make_topic()
    fill(topic, 0, 2)
    assign = json.dumps({topic: [0, 5]})
    assert f"Partition {topic}-5 does not exist" in error_of(read(assign=assign).collect)
    assert offsets_of(read(assign=assign, failOnDataLoss="false")) == {0: [0, 1]}


def test_read_committed_ends_at_the_last_stable_offset(
    kafka_cluster: KafkaCluster, read: Read, make_topic: MakeTopic
) -> None:
    """Committed, aborted, and one that is still open: fault 36."""
    topic = make_topic()
    options = {"bootstrap.servers": kafka_cluster.bootstrap_servers}
    producer = Librdkafka({**options, "transactional.id": f"t-{topic}"})
    producer.init_transactions(30)
    for number, end in enumerate([producer.commit_transaction, producer.abort_transaction, None]):
        producer.begin_transaction()
        producer.produce(topic, b"%d" % number)
        assert producer.flush(30) == 0
        if end is not None:
            end(30)
    assert offsets_of(read(subscribe=topic)) == {0: [0, 2, 4]}
    for level in ("read_committed", "READ_COMMITTED"):
        committed = read(subscribe=topic, **{"kafka.isolation.level": level})
        assert offsets_of(committed) == {0: [0]}
    producer.abort_transaction(30)


def test_planning_is_retried_num_retries_times(spark: SparkSession) -> None:
    reader = spark.read.format("pykafka").option("kafka.bootstrap.servers", "localhost:1")
    options = {
        "subscribe": "t",
        "fetchOffset.numRetries": "3",
        "fetchOffset.retryIntervalMs": "200",
        "kafka.socket.connection.setup.timeout.ms": "300",
    }
    begin = time.monotonic()
    message = error_of(reader.options(**options).load().collect)
    assert "No broker of kafka.bootstrap.servers can be reached" in message
    assert time.monotonic() - begin >= 2 * 0.2
