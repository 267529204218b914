"""Exactly-once writes to a real broker: a batch is written completely or not at all, and once."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic, Write, run_stream
from tests.witness import values_of

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SOON_SECONDS = 120


class Copy:
    """A topic for exactly-once writes, and how to read it."""

    def __init__(self, spark: SparkSession, servers: str, topic: str) -> None:
        self._servers = servers
        self.topic = topic
        self.options = {
            "kafka.bootstrap.servers": servers,
            "topic": topic,
            "deliveryGuarantee": "exactly_once",
            "transactionalIdPrefix": topic,
        }

    def save(self, df: DataFrame) -> None:
        df.write.format("pykafka").options(**self.options).mode("append").save()

    def values(self) -> list[str]:
        return sorted(values_of(self._servers, self.topic, 0))


@pytest.fixture
def copy(spark: SparkSession, kafka_cluster: KafkaCluster, make_topic: MakeTopic) -> Copy:
    return Copy(spark, kafka_cluster.bootstrap_servers, make_topic())


def test_a_batch_is_written_completely_or_not_at_all(spark: SparkSession, copy: Copy) -> None:
    numbers = spark.range(0, 40, 1, 4)
    value = F.col("id").cast("string").alias("value")
    broken = F.when(F.col("id") == 39, F.raise_error(F.lit("the last row"))).otherwise(value)
    with pytest.raises(Exception, match="the last row"):
        copy.save(numbers.select(broken.cast("string").alias("value")))
    assert copy.values() == []
    for _ in range(2):
        copy.save(numbers.select(value))
    assert copy.values() == sorted(2 * [str(number) for number in range(40)])


@pytest.mark.core
def test_a_repeated_micro_batch_is_not_written_again(
    spark: SparkSession, copy: Copy, make_topic: MakeTopic, write: Write, tmp_path: Path
) -> None:
    source = make_topic(partitions=2)

    def run() -> None:
        reader = spark.readStream.format("pykafka").option("subscribe", source)
        reader = reader.option("kafka.bootstrap.servers", copy.options["kafka.bootstrap.servers"])
        rows = reader.option("startingOffsets", "earliest").load().select("value")
        writer = rows.writeStream.format("pykafka").options(**copy.options)
        run_stream(writer.option("checkpointLocation", str(tmp_path)))

    for batch in range(2):
        values = spark.range(10 * batch, 10 * batch + 10)
        write(values.selectExpr("cast(id as string) as value"), topic=source)
        run()
        expected = sorted(str(number) for number in range(10 * batch + 10))
        assert copy.values() == expected
        last = max((tmp_path / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        # As if the driver had died before it wrote this file.
        last.unlink()
        last.with_name(f".{last.name}.crc").unlink()
        run()
        assert copy.values() == expected


def test_the_commit_log_is_compacted(
    spark: SparkSession, copy: Copy, kafka_cluster: KafkaCluster
) -> None:
    copy.save(spark.range(1).selectExpr("'a' as value"))
    admin = AdminClient({"bootstrap.servers": kafka_cluster.bootstrap_servers})
    resource = ConfigResource("topic", "pykafka-commit-log")
    (found,) = admin.describe_configs([resource]).values()
    assert found.result(SOON_SECONDS)["cleanup.policy"].value == "compact"


def test_a_commit_log_with_retention_is_refused(
    spark: SparkSession, copy: Copy, make_topic: MakeTopic
) -> None:
    copy.options["commitLogTopic"] = make_topic(cleanup_policy="delete")
    with pytest.raises(PySparkException, match=r"has cleanup\.policy=delete.*set it to compact"):
        copy.save(spark.range(1).selectExpr("'a' as value"))
