"""Topics in the message formats before Kafka 0.11, on a broker of 1.1."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from kafka_spark_source.testing.plugin import ClusterFactory
from tests.conformance.sides import Sides
from tests.conformance.topics import CODECS, Topics, numbered

pytestmark = [pytest.mark.integration, pytest.mark.spark]

# zstd is newer than these formats.
OLD_CODECS = CODECS[:-1]


@pytest.mark.parametrize(("release", "timestamp_type"), [("0.9.0", -1), ("0.10.2", 0)])
def test_old_message_formats(
    spark: SparkSession, kafka_cluster_factory: ClusterFactory, release: str, timestamp_type: int
) -> None:
    servers = kafka_cluster_factory("1.1.1").bootstrap_servers
    topics, sides = Topics(servers), Sides(spark, servers)
    topic = topics.make(f"format-{release}", message_format_version=release)
    for codec in OLD_CODECS:
        topics.write(topic, numbered(50, name=codec), compression_type=codec)
    rows = sides.rows(subscribe=topic, includeHeaders="true")
    assert len(rows) == 50 * len(OLD_CODECS)
    assert {row["timestampType"] for row in rows} == {timestamp_type}
    sides.rows(subscribe=topic, startingOffsets=f'{{"{topic}":{{"0":77}}}}')
