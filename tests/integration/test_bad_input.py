"""Mistakes of users: the first line of the error is one clear sentence, and nothing hangs."""

from __future__ import annotations

import json
import time

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_spark_source.testing import KafkaCluster
from tests.integration.conftest import MakeTopic, Read, Write
from tests.integration.error_lines import first_line

pytestmark = [pytest.mark.integration, pytest.mark.spark]

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


def test_writing_to_a_missing_topic(spark: SparkSession, kafka_cluster: KafkaCluster) -> None:
    rows = spark.createDataFrame([("v",)], "value string")
    writer = rows.write.format("pykafka").mode("append").option("topic", "no-such-topic")
    started = time.monotonic()
    with pytest.raises(PySparkException) as caught:
        writer.option("kafka.bootstrap.servers", kafka_cluster.bootstrap_servers).save()
    assert time.monotonic() - started < LIMIT_SECONDS
    assert "Cannot write to topic 'no-such-topic'" in first_line(caught.value)


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
