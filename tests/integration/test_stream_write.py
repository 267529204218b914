"""`df.writeStream.format("pykafka")` in each output mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic, Read, Write, run_stream

pytestmark = [pytest.mark.integration, pytest.mark.spark]


class Sink:
    """A topic that queries write to, and a topic that they read."""

    def __init__(
        self, spark: SparkSession, servers: str, source: str, topic: str, folder: Path
    ) -> None:
        self.spark = spark
        self.servers = servers
        self.source = source
        self.topic = topic
        self.folder = folder

    def stream(self) -> DataFrame:
        reader = self.spark.readStream.format("pykafka")
        reader = reader.option("kafka.bootstrap.servers", self.servers)
        return reader.option("startingOffsets", "earliest").option("subscribe", self.source).load()

    def writer(self, df: DataFrame, **options: str) -> DataStreamWriter:
        writer = df.writeStream.format("pykafka").options(**{"topic": self.topic} | options)
        writer = writer.option("kafka.bootstrap.servers", self.servers)
        return writer.option("checkpointLocation", str(self.folder))


@pytest.fixture
def sink(
    spark: SparkSession, kafka_cluster: KafkaCluster, make_topic: MakeTopic, tmp_path: Path
) -> Iterator[Sink]:
    yield Sink(
        spark,
        kafka_cluster.bootstrap_servers,
        make_topic(partitions=3),
        make_topic(partitions=3),
        tmp_path,
    )


def keyed(spark: SparkSession, start: int, end: int) -> DataFrame:
    return spark.range(start, end).selectExpr(
        "cast(concat('key ', id % 7) as binary) as key", "cast(cast(id as string) as binary) value"
    )


@pytest.mark.core
def test_rows_are_appended_once_and_keep_their_partitions(
    spark: SparkSession, sink: Sink, read: Read, write: Write
) -> None:
    for start in (0, 500):
        write(keyed(spark, start, start + 500), topic=sink.source)
        run_stream(sink.writer(sink.stream().select("key", "value")))
        came = read(subscribe=sink.topic)
        assert came.count() == start + 500
    assert places(came) == places(read(subscribe=sink.source))


def places(rows: DataFrame) -> Counter[tuple[bytes, bytes, int]]:
    # Bytes are bytearrays before PySpark 4.1.
    return Counter(
        (bytes(row["key"]), bytes(row["value"]), row["partition"]) for row in rows.collect()
    )


def test_a_stream_without_rows_writes_nothing(sink: Sink, read: Read) -> None:
    run_stream(sink.writer(sink.stream().select("value")))
    assert read(subscribe=sink.topic).count() == 0


def counts(sink: Sink) -> DataFrame:
    return sink.stream().groupBy("key").agg(F.count("*").cast("string").alias("value"))


@pytest.mark.slow
def test_spark_refuses_update_mode_for_a_python_sink(
    spark: SparkSession, sink: Sink, read: Read, write: Write
) -> None:
    """A query in update mode writes through foreachBatch."""
    write(keyed(spark, 0, 7), topic=sink.source)
    updates = sink.writer(counts(sink)).outputMode("update")
    with pytest.raises(StreamingQueryException, match="does not support Update mode"):
        run_stream(updates)
    to_kafka = {"kafka.bootstrap.servers": sink.servers, "topic": sink.topic}

    def append(rows: DataFrame, _batch: int) -> None:
        rows.write.format("pykafka").options(**to_kafka).mode("append").save()

    run_stream(updates.foreachBatch(append))
    assert read(subscribe=sink.topic).count() == 7


def test_a_missing_value_column_fails_at_the_start(sink: Sink) -> None:
    with pytest.raises(
        (AnalysisException, StreamingQueryException), match="Required attribute 'value' not found"
    ):
        run_stream(sink.writer(sink.stream().select("key")))
