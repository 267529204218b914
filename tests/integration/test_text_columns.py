"""Raw columns as text and headers as maps, beside Spark's own CAST of the same records."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import Consume, MakeTopic, Read, Write
from tests.tiers import first_are_core
from tests.witness import produce

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SOON_SECONDS = 120
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
    to = to.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    query = to.start()
    try:
        assert query.awaitTermination(SOON_SECONDS)
    finally:
        query.stop()
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
