"""spark.read and df.write with format("pykafka"), compared by chispa."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyspark
import pytest
from chispa import assert_df_equality
from confluent_kafka import Producer as Librdkafka
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_spark_source.schema import source_schema
from kafka_spark_source.source import KafkaDataSource
from kafka_spark_source.testing import KafkaCluster
from tests.integration.clients import connect, soon
from tests.integration.conftest import Consume, MakeTopic, Read, Write, run_stream
from tests.tiers import first_are_core
from tests.witness import produce

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


def test_round_trip(spark: SparkSession, read: Read, write: Write, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    sent = orders(spark, 2_000)
    write(sent, topic=topic, kafka_compression_type="zstd")
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_registered_by_hand(spark: SparkSession, read: Read, make_topic: MakeTopic) -> None:
    """PySpark 4.0 refuses to register a source that it has found itself, and can still use it."""
    if pyspark.__version__.startswith("4.0."):
        with pytest.raises(AnalysisException, match="DATA_SOURCE_ALREADY_EXISTS"):
            spark.dataSource.register(KafkaDataSource)
    else:
        spark.dataSource.register(KafkaDataSource)
    assert read(subscribe=make_topic()).count() == 0


# --- Start, end and number of tasks of a batch read, through Spark --------------------------------


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


# --- Raw columns as text and headers as maps, beside Spark's own CAST of the same records ---------


VALUES = [b"plain", "ä€😀".encode(), b"", None, b"a\xff\xfeb", b"\xed\xa0\x80", b"\x00"]
TEXT = "key string, value string, offset bigint"
# Bytes, so that nothing on the way to Python changes what is no UTF-8.
BYTES = ("cast(key as binary) as key", "cast(value as binary) as value")


@pytest.mark.core
def test_text_has_the_bytes_of_spark_s_cast(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic, read: Read, tmp_path: Path
) -> None:
    topic = make_topic()
    produce(kafka_cluster.bootstrap_servers, topic, VALUES)
    text = read(TEXT, subscribe=topic)
    cast = read(subscribe=topic).selectExpr("cast(value as string) as value", "offset")
    assert text.schema["value"].dataType.simpleString() == "string"
    assert [row["value"] for row in text.selectExpr(*BYTES).collect()] == VALUES
    both = text.join(cast, text["offset"] == cast["offset"])
    same = both.where(text["value"].eqNullSafe(cast["value"]))
    assert same.count() == len(VALUES)


def test_text_is_checked_where_a_mode_is_given(
    kafka_cluster: KafkaCluster, make_topic: MakeTopic, read: Read, consume: Consume
) -> None:
    topic, letters = make_topic(), make_topic()
    produce(kafka_cluster.bootstrap_servers, topic, VALUES)
    broken = [4, 5]
    with pytest.raises(PySparkException, match="at offset 4: the value: it is not UTF-8"):
        read(TEXT, subscribe=topic, mode="FAILFAST").collect()
    rows = read(f"{TEXT}, _error string, _raw binary", subscribe=topic, mode="PERMISSIVE")
    found = rows.orderBy("offset").collect()
    assert [row["offset"] for row in found if row["_error"]] == broken
    assert [found[row]["_raw"] for row in broken] == [VALUES[row] for row in broken]
    kept = read(TEXT, subscribe=topic, deadLetterTopic=letters).collect()
    assert sorted(row["offset"] for row in kept) == [0, 1, 2, 3, 6]
    assert [each.value() for each in consume(letters, 0, 2)] == [VALUES[row] for row in broken]


@pytest.mark.core
def test_a_stream_of_text(
    spark: SparkSession, kafka_cluster: KafkaCluster, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, servers = make_topic(), kafka_cluster.bootstrap_servers
    produce(servers, topic, ["a", "b"])
    reader = spark.readStream.format("pykafka").schema("value string")
    reader = reader.options(subscribe=topic, startingOffsets="earliest")
    rows = reader.option("kafka.bootstrap.servers", servers).load()
    to = rows.writeStream.format("parquet").option("path", str(tmp_path / "rows"))
    run_stream(to.option("checkpointLocation", str(tmp_path / "checkpoint")))
    found = spark.read.parquet(str(tmp_path / "rows")).collect()
    assert sorted(row["value"] for row in found) == ["a", "b"]


@pytest.mark.parametrize("value", first_are_core(["string", "binary"]))
def test_headers_as_a_map_there_and_back(
    spark: SparkSession,
    make_topic: MakeTopic,
    read: Read,
    write: Write,
    consume: Consume,
    value: str,
) -> None:
    topic = make_topic()
    rows = spark.sql(
        "select 'v' as value, array(struct('a' as key, cast('1' as binary) as value), "
        "struct('b' as key, cast(null as binary) as value), "
        "struct('a' as key, cast('2' as binary) as value)) as headers "
        "union all select 'w', null"
    ).coalesce(1)
    write(rows, topic=topic)
    by_name = read(
        f"value binary, headers map<string, {value}>", subscribe=topic, includeHeaders="true"
    )
    last = b"2" if value == "binary" else "2"
    found = {bytes(row["value"]): row["headers"] for row in by_name.collect()}
    assert found == {b"v": {"a": last, "b": None}, b"w": None}
    copy = make_topic()
    write(by_name, topic=copy)
    records = {each.value(): each.headers() for each in consume(copy, 0, 2)}
    assert records[b"w"] is None
    assert sorted(records[b"v"]) == [("a", b"2"), ("b", None)]
