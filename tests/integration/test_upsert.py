"""envelope=upsert through Spark, beside `row_number()` over Spark's rows of the same topic."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from kafka_formats.topic import read_topic
from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic, Read
from tests.integration.test_pushdown import since_4_1, switched_on
from tests.witness import IN_ORDER

pytestmark = [pytest.mark.integration, pytest.mark.spark]

__all__ = ["switched_on"]  # a fixture

PARTITIONS: Final = 3
COUNT: Final = 600
COLUMNS: Final = ("partition", "offset", "key", "value", "op")
UPSERT: Final = {"envelope": "upsert"}
KEPT: Final = {**UPSERT, "upsert.tombstones": "keep"}


class Changes:
    """Writes changes of some 40 keys with librdkafka, in transactions or without."""

    def __init__(self, servers: str, topic: str) -> None:
        self._servers = servers
        self._topic = topic
        self._chance = random.Random(7)

    def write(self, count: int, ending: str | None = None, codec: str = "lz4") -> None:
        options: dict[str, Any] = {"bootstrap.servers": self._servers, "compression.type": codec}
        name = f"{self._topic}-{ending}"
        producer = Producer(
            options | IN_ORDER | ({"transactional.id": name} if ending else {"linger.ms": 5})
        )
        if ending:
            producer.init_transactions(30)
            producer.begin_transaction()
        for number in range(count):
            key = b"" if self._chance.random() < 0.05 else b"key-%d" % self._chance.randrange(40)
            value = None if self._chance.random() < 0.2 else b"%s %d" % (key, number)
            producer.produce(self._topic, value, key, zlib.crc32(key) % PARTITIONS)
        assert producer.flush(30) == 0
        if ending == "commit":
            producer.commit_transaction(30)
        elif ending == "abort":
            producer.abort_transaction(30)


@pytest.fixture
def topic(kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> str:
    """Three partitions of changes, the last of them in a transaction that was aborted."""
    name = make_topic(partitions=PARTITIONS)
    changes = Changes(kafka_cluster.bootstrap_servers, name)
    changes.write(COUNT)
    changes.write(100, "commit", "zstd")
    changes.write(100, "abort")
    return name


def rows_of(df: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, df.select(*COLUMNS).collect()))


def newest_by_query(rows: DataFrame, tombstones: bool) -> list[tuple[Any, ...]]:
    """The same by Spark's own means."""
    newest = Window.partitionBy("partition", "key").orderBy(F.col("offset").desc())
    numbered = rows.withColumn("number", F.row_number().over(newest)).where("number = 1")
    op = F.when(F.col("value").isNull(), "d").otherwise("u")
    return rows_of(numbered.withColumn("op", op).where(f"{tombstones} or value is not null"))


@pytest.mark.parametrize(
    ("level", "options"),
    [
        pytest.param("read_committed", KEPT, marks=pytest.mark.core),
        pytest.param("read_committed", UPSERT, marks=pytest.mark.slow),
        pytest.param("read_uncommitted", UPSERT, marks=pytest.mark.slow),
    ],
)
def test_a_batch_has_what_row_number_has(
    read: Read, topic: str, level: str, options: dict[str, str]
) -> None:
    given = {"subscribe": topic, "kafka.isolation.level": level}
    expected = newest_by_query(read(**given), tombstones=options is KEPT)
    assert len(expected) > 20
    alone = {"coalescePartitions": "false", "kafka.max.partition.fetch.bytes": "1000"}
    for more in ({}, alone, {"minPartitions": "9"}):
        assert rows_of(read(**given, **options, **more)) == expected


@pytest.mark.slow
def test_a_range(read: Read, topic: str) -> None:
    bounded = {
        "subscribe": topic,
        "startingOffsets": json.dumps({topic: {"0": 20, "1": -2, "2": 40}}),
        "endingOffsets": json.dumps({topic: {"0": 90, "1": 70, "2": -1}}),
    }
    expected = newest_by_query(read(**bounded), tombstones=False)
    assert rows_of(read(**bounded, **UPSERT)) == expected


@since_4_1
@pytest.mark.usefixtures("switched_on")
def test_filters_choose_among_the_newest(read: Read, topic: str) -> None:
    newest = rows_of(read(subscribe=topic, **UPSERT))
    filtered = read(subscribe=topic, pushDownPredicate="true", **UPSERT).where(
        "partition < 2 and offset < 150 and timestamp > '2020-01-01'"
    )
    assert rows_of(filtered) == [row for row in newest if row[0] < 2 and row[1] < 150]


@pytest.mark.slow
def test_a_projection_and_a_limit(read: Read, topic: str) -> None:
    df = read("op string, key binary", subscribe=topic, **KEPT)
    newest = rows_of(read(subscribe=topic, **KEPT))
    assert sorted(map(tuple, df.collect())) == sorted((row[4], row[2]) for row in newest)
    assert df.limit(1).count() == 1


@pytest.mark.core
def test_a_null_key_names_its_place(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic, read: Read
) -> None:
    topic = make_topic()
    producer = Producer({"bootstrap.servers": kafka_cluster.bootstrap_servers, **IN_ORDER})
    for key in (b"a", None, b"a"):
        producer.produce(topic, b"v", key)
    assert producer.flush(30) == 0
    with pytest.raises(
        PySparkException, match=rf"\[KAFKA_UPSERT_NULL_KEY\] {topic}-0 at offset 1: "
    ):
        read(subscribe=topic, **UPSERT).collect()
    kept = read(subscribe=topic, **UPSERT, **{"upsert.nullKeys": "keep"})
    assert [row[1:3] for row in rows_of(kept)] == [(1, None), (2, bytearray(b"a"))]


def test_values_with_a_format(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic, read: Read
) -> None:
    topic = make_topic()
    producer = Producer({"bootstrap.servers": kafka_cluster.bootstrap_servers, **IN_ORDER})
    for key, value in ((b"a", b"{"), (b"a", b'{"n": 1}'), (b"b", b'{"n": 2}'), (b"b", None)):
        producer.produce(topic, value, key)
    assert producer.flush(30) == 0
    formats = {"value.format": "json", "value.schema": "n int"}
    rows = read(subscribe=topic, **KEPT, **formats).select("key", "value.n", "op").collect()
    assert sorted(map(tuple, rows)) == [(b"a", 1, "u"), (b"b", None, "d")]


@pytest.fixture
def merged(spark: SparkSession) -> Iterator[dict[bytes, bytes]]:
    """A table that micro-batches are merged into."""
    yield {}
    for query in spark.streams.active:
        query.stop()


def test_micro_batches_merge_into_the_table_of_a_batch(
    spark: SparkSession,
    servers: dict[str, str],
    kafka_cluster: KafkaCluster,
    read: Read,
    topic: str,
    merged: dict[bytes, bytes],
    tmp_path: Path,
) -> None:
    batches: list[int] = []

    def merge(rows: DataFrame, _number: int) -> None:
        found = rows.select("partition", "key", "value", "op").collect()
        assert len({(row["partition"], bytes(row["key"])) for row in found}) == len(found)
        batches.append(len(found))
        for row in found:
            if row["op"] == "d":
                merged.pop(bytes(row["key"]), None)
            else:
                merged[bytes(row["key"])] = bytes(row["value"])

    def run() -> None:
        stream = spark.readStream.format("pykafka").options(**servers, **UPSERT, subscribe=topic)
        stream = stream.options(startingOffsets="earliest", maxOffsetsPerTrigger="400")
        rows = stream.option("kafka.isolation.level", "read_committed").load()
        writer = rows.writeStream.foreachBatch(merge)
        query = writer.option("checkpointLocation", str(tmp_path)).start()
        query.processAllAvailable()
        query.stop()

    run()
    Changes(kafka_cluster.bootstrap_servers, topic).write(50)
    run()
    table = read(subscribe=topic, **UPSERT, **{"kafka.isolation.level": "read_committed"})
    assert merged == {bytes(row["key"]): bytes(row["value"]) for row in table.collect()}
    assert len(batches) > 1


def test_without_spark(kafka_cluster: KafkaCluster, read: Read, topic: str) -> None:
    kafka = {"bootstrap.servers": kafka_cluster.bootstrap_servers}
    for options in (UPSERT, KEPT):
        table = read_topic(topic, kafka, options, columns=COLUMNS).read_all()
        rows = sorted(tuple(row.values()) for row in table.to_pylist())
        assert rows == rows_of(read(subscribe=topic, **options))
