"""Topics in SQL where Delta has the session's catalog, as docs/sql.md says."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_protocol.arrow_io.topic import create_topic
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.change_data.lake import FORMATS
from tests.witness import produce, values_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif("delta" not in FORMATS, reason="there are no jars of Delta"),
]


def test_tables_are_refused_and_views_work(
    spark: SparkSession, kafka_cluster_factory: ClusterFactory
) -> None:
    servers = kafka_cluster_factory().bootstrap_servers
    for topic in ("source", "target"):
        create_topic(topic, {"bootstrap.servers": servers})
    produce(servers, "source", ["a"])
    brokers = f"kafka.bootstrap.servers '{servers}'"
    spark.sql(f"CREATE TABLE t USING pykafka OPTIONS ({brokers}, topic 'source')")
    try:
        for statement in ("SELECT * FROM t", "INSERT INTO t SELECT * FROM t"):
            with pytest.raises(PySparkException, match="pykafka is not a valid Spark SQL Data"):
                spark.sql(statement).collect()
    finally:
        spark.sql("DROP TABLE t")
    spark.sql(f"CREATE TEMPORARY VIEW v USING pykafka OPTIONS ({brokers}, subscribe 'source')")
    spark.sql(
        f"CREATE TEMPORARY VIEW w (value STRING) USING pykafka OPTIONS ({brokers}, topic 'target')"
    )
    spark.sql("CREATE TABLE lake USING delta AS SELECT CAST('b' AS STRING) AS value")
    try:
        spark.sql("INSERT INTO w SELECT value FROM lake")
        spark.sql("INSERT INTO w SELECT CAST(value AS STRING) FROM v")
    finally:
        spark.sql("DROP TABLE lake")
        spark.sql("DROP VIEW v")
        spark.sql("DROP VIEW w")
    assert values_of(servers, "target", 0) == ["b", "a"]
    assert values_of(servers, "source", 0) == ["a"]
