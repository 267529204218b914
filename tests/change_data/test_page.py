"""The page docs/change-data.md: its statements run as they stand there, in its order, on Delta."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka_protocol.arrow_io.topic import create_topic
from kafka_spark_source.changes import apply_changes
from kafka_spark_source.testing import KafkaCluster
from tests.change_data.conftest import ONLY_WITH_NEWEST_DELTA
from tests.pages.statements import Kind, statements_of
from tests.pages.tour import Tour
from tests.witness import produce

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    ONLY_WITH_NEWEST_DELTA,
]

COLUMNS = "id bigint, name string, email string"
TOPIC = "shop.public.customers"


def event(op: str, key: int, name: str) -> str:
    row = {"id": key, "name": name, "email": f"{name}@a.b"}
    before, after = (row, None) if op == "d" else (None, row)
    return json.dumps({"op": op, "before": before, "after": after, "source": {}, "ts_ms": 1})


@pytest.fixture
def kafka(kafka_cluster: KafkaCluster) -> Iterator[KafkaCluster]:
    """A broker with the topic of the page."""
    servers = {"bootstrap.servers": kafka_cluster.bootstrap_servers}
    create_topic(TOPIC, servers)
    create_topic("table", servers)
    events = [event("c", 1, "ann"), event("c", 2, "bob"), event("d", 2, "bob")]
    produce(kafka_cluster.bootstrap_servers, TOPIC, events)
    yield kafka_cluster


@pytest.fixture
def shop(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that has the schema of the page until the end of the test."""
    spark.sql("CREATE DATABASE shop")
    yield spark
    for query in spark.streams.active:
        query.stop()
    spark.sql("DROP DATABASE shop CASCADE")
    spark.sql("DROP TABLE IF EXISTS t")


def rows_of(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.table(table).select("id", "name", "email").collect()))


def test_the_statements_of_the_page(shop: SparkSession, kafka: KafkaCluster, tmp_path: Any) -> None:
    spark, servers = shop, kafka.bootstrap_servers
    read = {"kafka.bootstrap.servers": servers, "startingOffsets": "earliest"}
    names = {
        **{"spark": spark, "DataFrame": DataFrame, "apply_changes": apply_changes},
        **{"servers": servers, "folder": str(tmp_path)},
        **{"KEYS": {"customers": ["id"]}, "schemas": {"customers": COLUMNS}},
    }
    debezium = {"envelope": "debezium", "value.format": "json", "value.schema": COLUMNS}
    names["options"] = {**read, **debezium, "subscribe": TOPIC}
    with Tour("docs/change-data.md", names) as tour:
        tour.run("def changes_of")
        for query in spark.streams.active:
            query.processAllAvailable()
            query.stop()
        path = tour.names["target"]
        for table in ("customers_changes", "orders_changes"):
            spark.sql(f"CREATE TABLE shop.{table} USING delta AS SELECT * FROM delta.`{path}`")
        tour.run("CREATE VIEW shop.customers")
        assert rows_of(spark, "shop.customers") == [(1, "ann", "ann@a.b")]
        tour.run("topic_ids")
        tour.run("SET _sequence = NULL")
        assert spark.table("shop.orders_changes").where("_sequence IS NULL").count() == 2
        spark.sql("CREATE TABLE t (size int) USING delta")
        while tour.next_text.startswith("ALTER TABLE t"):
            tour.run()
        assert spark.table("t").schema["size"].dataType.simpleString() == "bigint"
        tour.run("apply_changes(target")
        live = spark.read.format("delta").load(path).where("_tombstone IS NOT TRUE")
        assert [tuple(row) for row in live.select("id", "name").collect()] == [(1, "ann")]
        tour.names["stream"] = upserts(spark, read)
        tour.run("stream.selectExpr")
        tour.run("SET email = NULL")


def upserts(spark: SparkSession, read: dict[str, str]) -> DataFrame:
    formats = {"key.format": "json", "key.schema": "id bigint"}
    formats |= {"value.format": "json", "value.schema": "name string", "envelope": "upsert"}
    reader = spark.readStream.format("pykafka").options(**read, **formats, subscribe="table")
    return reader.load()


def test_the_merge_of_the_page_about_tables(shop: SparkSession) -> None:
    (merge,) = (each.text for each in statements_of("docs/tables.md") if each.kind is Kind.SQL)
    spark, target = shop, "shop.customers"
    spark.sql(
        f"CREATE TABLE {target} USING delta AS "
        "SELECT * FROM VALUES ('a', '1'), ('b', '2') AS t(key, value)"
    )
    rows = [("a", "3", "u"), ("b", None, "d"), ("c", "4", "u"), ("d", None, "d")]
    for _ in range(2):  # a micro-batch that runs again
        spark.createDataFrame(rows, "key string, value string, op string").createOrReplaceTempView(
            "micro_batch"
        )
        spark.sql(merge.replace("INTO customers", f"INTO {target}"))
        assert sorted(map(tuple, spark.table(target).collect())) == [("a", "3"), ("c", "4")]
