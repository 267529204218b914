"""spark.read and df.write with format("pykafka"), compared by chispa."""

from __future__ import annotations

import json
import uuid
from contextlib import closing

import pyspark
import pytest
from chispa import assert_df_equality
from confluent_kafka import Producer as Librdkafka
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_spark_source.schema import source_schema
from kafka_spark_source.source import KafkaDataSource
from kafka_spark_source.testing import KafkaCluster
from tests.integration.clients import connect, soon
from tests.integration.conftest import Consume, MakeTopic, Read, Write

pytestmark = [pytest.mark.integration, pytest.mark.spark]

Headers = list[tuple[str, str | bytes | None]]
HEADERS = "array<struct<key:string,value:binary>>"


def orders(spark: SparkSession, count: int) -> DataFrame:
    """Rows of every kind: null and empty keys and values, headers null, empty and repeated."""
    header = (
        "struct('a' as key, cast(cast(id as string) as binary) as value), "
        "struct('a' as key, null as value)"
    )
    return spark.range(count).selectExpr(
        "case when id % 5 = 0 then null when id % 5 = 1 then binary('') "
        "else cast(concat('key ', id % 7) as binary) end as key",
        "case when id % 11 = 0 then null else cast(repeat(cast(id as string), "
        "cast(id % 13 as int)) as binary) end as value",
        f"case when id % 3 = 0 then cast(array({header}) as {HEADERS}) end as headers",
    )


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_round_trip(
    spark: SparkSession, read: Read, write: Write, make_topic: MakeTopic, codec: str
) -> None:
    topic = make_topic(partitions=3)
    sent = orders(spark, 2_000)
    write(sent, topic=topic, kafka_compression_type=codec)
    came_back = read(subscribe=topic, includeHeaders=True)
    assert came_back.schema == source_schema(include_headers=True)
    assert_df_equality(
        came_back.select("key", "value", "headers"),
        sent,
        ignore_row_order=True,
        ignore_nullable=True,
    )
    # Every offset of every partition once.
    numbers = came_back.groupBy("partition").agg(
        F.count("*").alias("rows"),
        F.countDistinct("offset").alias("offsets"),
        (F.max("offset") + 1).alias("end"),
    )
    assert all(row["rows"] == row["offsets"] == row["end"] for row in numbers.collect())


def test_a_task_reads_large_responses_of_three_leaders(
    spark: SparkSession, three_brokers: KafkaCluster
) -> None:
    """Their rows share Arrow batches, and the receive buffers of the process are reused."""
    topic, partitions, records = f"leaders-{uuid.uuid4()}", 3, 2_500
    with closing(connect(three_brokers)) as client:
        create_topic(client, NewTopic(topic, partitions), soon())
    servers = three_brokers.bootstrap_servers
    producer = Librdkafka({"bootstrap.servers": servers, "linger.ms": 200})
    for partition in range(partitions):
        for offset in range(records):
            value = f"{partition} {offset} ".ljust(120, "x")
            producer.produce(topic, value, partition=partition)
        assert producer.flush(30) == 0
    options = {"kafka.bootstrap.servers": servers, "subscribe": topic}
    df = spark.read.format("pykafka").options(**options).load()
    rows = df.selectExpr("split(string(value), ' ') as v", "partition", "offset").collect()
    assert all(row.v[:2] == [str(row.partition), str(row.offset)] for row in rows)
    assert len(rows) == partitions * records


@pytest.mark.core
def test_all_columns(
    spark: SparkSession, kafka_cluster: KafkaCluster, read: Read, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=2)
    producer = Librdkafka({"bootstrap.servers": kafka_cluster.bootstrap_servers})
    headers: Headers = [("h", b"1"), ("h", None)]
    producer.produce(topic, b"value", b"key", 1, timestamp=1_760_000_000_123, headers=headers)
    producer.produce(topic, None, None, 1, timestamp=1_760_000_000_124)
    assert producer.flush(30) == 0
    expected = spark.createDataFrame(
        [
            (
                bytearray(b"key"),
                bytearray(b"value"),
                topic,
                1,
                0,
                1_760_000_000_123,
                0,
                [("h", bytearray(b"1")), ("h", None)],
            ),
            (None, None, topic, 1, 1, 1_760_000_000_124, 0, None),
        ],
        "key binary, value binary, topic string, partition int, offset long, ms long, "
        f"timestampType int, headers {HEADERS}",
    ).withColumn("ms", F.timestamp_millis("ms"))
    expected = expected.withColumnRenamed("ms", "timestamp")
    assert_df_equality(read(subscribe=topic, includeHeaders="true"), expected)
    assert_df_equality(read(subscribe=topic), expected.drop("headers"))


def test_log_append_time(
    spark: SparkSession, read: Read, write: Write, make_topic: MakeTopic
) -> None:
    topic = make_topic(message_timestamp_type="LogAppendTime")
    write(spark.createDataFrame([("v",)], "value string"), topic=topic)
    (row,) = read(subscribe=topic).select("timestampType").collect()
    assert row["timestampType"] == 1


@pytest.mark.parametrize(
    "schema",
    ["offset long", "value binary, key binary", "timestamp timestamp, topic string, partition int"],
)
def test_a_schema_is_a_projection(
    spark: SparkSession, read: Read, write: Write, make_topic: MakeTopic, schema: str
) -> None:
    topic = make_topic()
    write(orders(spark, 100), topic=topic)
    projected = read(schema, subscribe=topic)
    assert_df_equality(projected, read(subscribe=topic).select(*projected.columns))


def test_count_needs_no_column(
    spark: SparkSession, read: Read, write: Write, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=2)
    write(orders(spark, 1_000), topic=topic)
    assert read(subscribe=topic).count() == 1_000


def test_empty_topic(read: Read, make_topic: MakeTopic) -> None:
    assert read(subscribe=make_topic(partitions=3)).collect() == []


def test_pattern_that_finds_nothing(read: Read) -> None:
    assert read(subscribePattern="no-topic-is-called-so-.*").collect() == []


@pytest.mark.core
def test_strategies(spark: SparkSession, read: Read, write: Write, make_topic: MakeTopic) -> None:
    first, second = make_topic(partitions=2), make_topic()
    rows = spark.createDataFrame(
        [(first, 0, "a"), (first, 1, "b"), (second, 0, "c")],
        "topic string, partition int, value string",
    )
    write(rows)

    def values(**options: str) -> list[str]:
        found = read(**options).selectExpr("cast(value as string) as value").collect()
        return sorted(row["value"] for row in found)

    assert values(subscribe=first) == ["a", "b"]
    assert values(subscribe=f" {first} , {second}") == ["a", "b", "c"]
    assert values(subscribePattern=f"{first}$|{second}$") == ["a", "b", "c"]
    assert values(assign=json.dumps({first: [1], second: [0]})) == ["b", "c"]


def test_offsets(spark: SparkSession, read: Read, write: Write, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    rows = spark.range(20).selectExpr("cast(id as string) value", "cast(id % 2 as int) partition")
    write(rows.coalesce(1), topic=topic)

    def offsets(**options: str) -> dict[int, list[int]]:
        found = read(subscribe=topic, **options).select("partition", "offset").collect()
        return {p: [row["offset"] for row in found if row["partition"] == p] for p in (0, 1)}

    def per_partition(*both: int) -> str:
        return json.dumps({topic: {"0": both[0], "1": both[1]}})

    assert offsets() == {0: [*range(10)], 1: [*range(10)]}
    assert offsets(startingOffsets="EARLIEST", endingOffsets=" latest ") == offsets()
    assert offsets(startingOffsets=per_partition(-2, 7)) == {0: [*range(10)], 1: [7, 8, 9]}
    assert offsets(endingOffsets=per_partition(3, -1)) == {0: [0, 1, 2], 1: [*range(10)]}
    both = {"startingOffsets": per_partition(2, 10), "endingOffsets": per_partition(4, 10)}
    assert offsets(**both) == {0: [2, 3], 1: []}


def test_keys_go_where_java_sends_them(
    spark: SparkSession, read: Read, write: Write, make_topic: MakeTopic
) -> None:
    from kafka.partitioner.default import murmur2  # noqa: PLC0415

    topic = make_topic(partitions=7)
    keys = ["", "a", "b", "customer-42", "ключ", "x" * 100]
    write(
        spark.createDataFrame([(key, "v") for key in keys], "key string, value string"), topic=topic
    )
    placed = {
        bytes(row["key"]).decode(): row["partition"] for row in read(subscribe=topic).collect()
    }
    assert placed == {key: (murmur2(key.encode()) & 0x7FFFFFFF) % 7 for key in keys}
    assert placed[""] == 2


def test_columns_of_the_sink(
    spark: SparkSession, write: Write, make_topic: MakeTopic, consume: Consume
) -> None:
    """Topic and partition by column; the option wins over the column; others are ignored."""
    first, second = make_topic(partitions=2), make_topic(partitions=2)
    rows = spark.createDataFrame(
        [(first, 1, "k", "v1", 1.5), (second, 0, None, "v2", 2.5), (first, None, "k", "v3", 0.5)],
        "topic string, partition int, key string, value string, Key double",
    )
    write(rows.coalesce(1))
    assert [(m.key(), m.value()) for m in consume(second, 0, 1)] == [(None, b"v2")]
    assert consume(first, 1, 1)[0].value() == b"v1"
    write(rows.where("value = 'v2'"), topic=first)
    assert consume(first, 0, 1)[-1].value() in (b"v2", b"v3")


def test_records_keep_the_order_of_the_rows(
    spark: SparkSession, read: Read, write: Write, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=3)
    rows = spark.range(30_000).selectExpr(
        "cast(id % 3 as int) partition", "cast(id as string) value", "array() headers"
    )
    write(rows.drop("headers").coalesce(1), topic=topic, kafka_batch_size="10000")
    for partition in range(3):
        found = read(assign=json.dumps({topic: [partition]})).orderBy("offset").collect()
        assert [int(row["value"]) for row in found] == [*range(partition, 30_000, 3)]


def test_writing_nothing(
    spark: SparkSession, read: Read, write: Write, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    write(orders(spark, 10).where("1 = 0"), topic=topic)
    assert read(subscribe=topic).count() == 0


def test_registered_by_hand(spark: SparkSession, read: Read, make_topic: MakeTopic) -> None:
    """PySpark 4.0 refuses to register a source that it has found itself, and can still use it."""
    if pyspark.__version__.startswith("4.0."):
        with pytest.raises(AnalysisException, match="DATA_SOURCE_ALREADY_EXISTS"):
            spark.dataSource.register(KafkaDataSource)
    else:
        spark.dataSource.register(KafkaDataSource)
    assert read(subscribe=make_topic()).count() == 0
