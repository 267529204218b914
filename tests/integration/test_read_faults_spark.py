"""Faults of a batch read that involve Spark: lost workers, networks, options, new partitions.

The numbers are those of the list of faults.
"""

from __future__ import annotations

import hashlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, Row, SparkSession

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.fakes.batch_reading import IN_THREE, filled
from tests.fakes.cluster import FakeCluster
from tests.fakes.reading import write
from tests.integration.conftest import MakeTopic, Read, Write
from tests.integration.error_lines import first_line
from tests.integration.topics import add_partitions
from tests.own_process import run_module

pytestmark = [pytest.mark.integration, pytest.mark.spark]


# --- Partitions that are added -------------------------------------------------------------------


def in_order(rows: list[Row]) -> list[tuple[int, int, bytes]]:
    # Before 4.1 binary values are bytearrays.
    return sorted((partition, offset, bytes(value)) for partition, offset, value in rows)


@pytest.mark.slow
def test_fault_25_a_partition_is_added_during_a_query(
    cluster: Cluster, read: Read, make_topic: MakeTopic
) -> None:
    """A query reads the planned partitions; the next one reads the new one from the beginning."""
    topic = make_topic()
    columns = ["partition", "offset", "value"]

    def rows(df: DataFrame) -> list[tuple[int, int, bytes]]:
        return in_order(df.select(columns).collect())

    write(cluster, b"a", b"b", topic_partition=TopicPartition(topic, 0))
    df = read(subscribe=topic)
    planned = df.select(columns).rdd
    assert planned.getNumPartitions() == 1
    add_partitions(cluster, topic, 2)
    write(cluster, b"c", b"d", topic_partition=TopicPartition(topic, 1))
    write(cluster, b"e", topic_partition=TopicPartition(topic, 0))
    old = [(0, 0, b"a"), (0, 1, b"b"), (0, 2, b"e")]
    assert in_order(planned.collect()) == old
    all_of_them = [*old, (1, 0, b"c"), (1, 1, b"d")]
    assert rows(read(subscribe=topic)) == all_of_them
    # Later releases plan the partitions of a Python source once for each `load()`.
    plans_anew = pyspark.__version__.startswith("4.0.")
    assert rows(df) == (all_of_them if plans_anew else old)


# --- Workers that die ----------------------------------------------------------------------------


@pytest.mark.slow
def test_fault_55_a_task_that_loses_a_worker_is_retried(
    kafka_cluster: KafkaCluster, cluster: Cluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    """The worker that reads, or one after it: all rows are those of the second attempt."""
    topic = make_topic()
    # 90 MB: the sockets between the workers buffer some 20, if the second worker starts late.
    values = [b"%d" % number * 8_000 for number in range(3_000)]
    for first in range(0, len(values), 25):
        part = values[first : first + 25]
        write(cluster, *part, topic_partition=TopicPartition(topic, 0))
    arguments = (kafka_cluster.bootstrap_servers, topic, str(tmp_path))
    found = run_module(tmp_path, "tests.jobs.lost_workers", *arguments)
    expected = [(offset, hashlib.md5(value).hexdigest()) for offset, value in enumerate(values)]
    for name in ("reader", "udf", "reader of a stream", "udf of a stream"):
        # A worker that kills itself cannot write its result.
        assert (tmp_path / name).read_text() == ("1 killed" if "reader" in name else "")
        assert [(offset, value) for offset, value, _ in sorted(found[name])] == expected
        assert {attempt for _, _, attempt in found[name]} == {1}, name


# --- Two networks --------------------------------------------------------------------------------


UNREACHABLE = {
    "kafka.socket.connection.setup.timeout.ms": "500",
    "kafka.default.api.timeout.ms": "500",
    "kafkaConsumer.pollTimeoutMs": "500",
    "fetchOffset.numRetries": "1",
}


@pytest.fixture
def fake_read(spark: SparkSession) -> Iterator[tuple[FakeCluster, DataFrame]]:
    """A cluster that can be made unreachable, and a read of it."""
    with filled(*IN_THREE) as cluster:
        servers = ",".join(map(str, cluster.bootstrap_servers))
        reader = spark.read.format("pykafka").options(**UNREACHABLE, subscribe="t")
        yield cluster, reader.option("kafka.bootstrap.servers", servers).load()


def test_fault_58_only_tasks_cannot_reach_the_brokers(
    fake_read: tuple[FakeCluster, DataFrame],
) -> None:
    cluster, df = fake_read
    planned = df.rdd
    assert planned.getNumPartitions() == 1
    cluster.stop(1)
    with pytest.raises(PySparkException) as caught:
        planned.collect()
    line = first_line(caught.value)
    assert f"{cluster.nodes[1].broker.address}: connection refused" in line
    assert "task" in line
    assert socket.gethostname() in line
    assert "t-0" in line


def test_fault_58_the_driver_cannot_reach_the_brokers(
    fake_read: tuple[FakeCluster, DataFrame],
) -> None:
    cluster, df = fake_read
    cluster.stop(1)
    with pytest.raises(PySparkException) as caught:
        df.collect()
    line = first_line(caught.value)
    assert f"{cluster.nodes[1].broker.address}: connection refused" in line
    assert "Failed to generate Python data source read partitions" in line
    assert "task" not in line


# --- Options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"assign": '{"t":[0]}'}, "Only one of the following options can be specified"),
        ({"kafka.auto.offset.reset": "latest"}, "Kafka option 'auto.offset.reset' is not supp"),
        ({"startingOfsets": "latest"}, "did you mean 'startingOffsets'"),
        ({"failOnDataloss ": "no"}, "did you mean 'failOnDataLoss'"),
        ({"kafka.isolation.levle": "read_committed"}, "did you mean 'kafka.isolation.level'"),
        ({"kafka.bootstrap.server": "a:1"}, "did you mean 'kafka.bootstrap.servers'"),
        ({"kafka.isolation.level": "read_all"}, "kafka.isolation.level"),
        ({"endingOffsets": "earliest"}, "ending offset can't be earliest for batch queries"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_fault_60_options_are_refused_at_load(
    spark: SparkSession, options: dict[str, str], words: str
) -> None:
    """Without a connection: no broker has that address."""
    with pytest.raises(PySparkException) as caught:
        nowhere(spark).options(**options).load()
    assert words in first_line(caught.value)
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    ("starting", "words"),
    [
        ("latest", "starting offset can't be latest for batch queries"),
        ('{"t":{"0":-1}}', "startingOffsets for t-0 can't be latest"),
    ],
    ids=["latest", "-1"],
)
def test_fault_60_start_options_of_streams_at_the_first_action(
    spark: SparkSession, starting: str, words: str
) -> None:
    """At `load()` it is unknown whether the read is a batch or a stream."""
    df = nowhere(spark).option("startingOffsets", starting).load()
    with pytest.raises(PySparkException) as caught:
        df.collect()
    assert words in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_fault_60_with_a_users_schema_at_the_first_action(spark: SparkSession) -> None:
    """Spark creates no source before, and no broker is contacted."""
    options = {"assign": '{"t":[0]}'}
    df = nowhere(spark).options(**options).schema("offset long").load()
    with pytest.raises(PySparkException, match="Only one of the following options") as caught:
        df.collect()
    assert "Traceback" not in str(caught.value)


def nowhere(spark: SparkSession) -> DataFrameReader:
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}
    return spark.read.format("pykafka").options(**options)


# --- Mistakes of users: the first line of the error is one clear sentence, and nothing hangs ------


LIMIT_SECONDS = 45


def test_missing_topic(read: Read) -> None:
    started = time.monotonic()
    with pytest.raises(PySparkException) as caught:
        read(subscribe="no-such-topic").collect()
    assert time.monotonic() - started < LIMIT_SECONDS
    assert "Traceback" not in str(caught.value)
    line = first_line(caught.value)
    assert "Cannot read topic 'no-such-topic' of the option 'subscribe'" in line
    assert "UNKNOWN_TOPIC_OR_PARTITION" in line


@pytest.mark.slow
def test_fault_31_flipped_byte_in_the_log(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    make_topic: MakeTopic,
    read: Read,
    write: Write,
) -> None:
    """A broker sends its log without a check; the reader must find the error and its offset."""
    topic = make_topic()
    rows = spark.range(100).selectExpr("repeat(cast(id as string), 20) value").coalesce(1)
    for _ in range(3):
        write(rows, topic=topic)
    (log,) = (kafka_cluster.log_dir(1) / f"{topic}-0").glob("*.log")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0x40
    log.write_bytes(data)
    for _ in range(2):  # every read fails, not only the first one
        with pytest.raises(PySparkException) as caught:
            read(subscribe=topic).select("value").write.format("noop").mode("overwrite").save()
        line = first_line(caught.value)
        assert f"Corrupt record batch of {topic}-0 at offset 100: the CRC-32C is" in line
    intact = read(subscribe=topic, endingOffsets=json.dumps({topic: {"0": 100}}))
    assert intact.count() == 100
