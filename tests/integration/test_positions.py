"""Start, end and number of tasks of a batch read, through Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer as Librdkafka
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

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


def test_assigned_partitions_that_do_not_exist(
    read: Read, make_topic: MakeTopic, fill: Fill
) -> None:
    """Refused; Spark's own connector silently ignores them."""
    topic = make_topic()
    fill(topic, 0, 2)
    assign = json.dumps({topic: [0, 5]})
    assert f"Partition {topic}-5 does not exist" in error_of(read(assign=assign).collect)
    assert offsets_of(read(assign=assign, failOnDataLoss="false")) == {0: [0, 1]}
