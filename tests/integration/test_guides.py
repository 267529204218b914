"""The Python of the guides runs as it stands, but for addresses, folders and names from before."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import kafka_spark_source.doctor
from kafka_formats.options.alone import parse_alone
from kafka_formats.registry.client import RegistryClient
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.schemas import NewSchema
from kafka_spark_source.source import KafkaDataSource
from kafka_spark_source.testing import CONVENIENT, KafkaCluster, SchemaRegistry
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.formats.protobuf.messages import descriptor_set
from tests.integration.guides import GUIDES
from tests.pages.tour import Tour
from tests.witness import produce

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.newest,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "amount", "type": "double"},
    ],
}
SHOP = {"namespace": "com.shop"}
PAYMENT = {
    "type": "record",
    "name": "Payment",
    "fields": [{"name": "card", "type": "string"}],
}
LINE = {"type": "record", "name": "Line", "fields": [{"name": "price", "type": "double"}]}
LINES = {"name": "lines", "type": {"type": "array", "items": LINE}}
WITH_LINES = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, LINES]}
PROTO = 'syntax = "proto3"; package shop; message Order { int64 id = 1; string customer = 2; }'


@pytest.fixture(scope="module")
def kafka(kafka_cluster_factory: ClusterFactory) -> KafkaCluster:
    """A broker that makes topics when they are first used."""
    return kafka_cluster_factory(config=CONVENIENT)


@pytest.fixture(autouse=True)
def _queries_end(spark: SparkSession) -> Iterator[None]:
    yield
    for query in spark.streams.active:
        query.stop()


def names_before(spark: SparkSession, kafka: KafkaCluster) -> dict[str, Any]:
    """What a reader of a page has: a session, rows, a stream of them, and a stream of totals."""
    servers = {"kafka.bootstrap.servers": kafka.bootstrap_servers}
    orders = spark.createDataFrame(
        [("ann", "2 pears"), ("bob", "1 plum")], "key string, value string"
    )
    orders.write.format("pykafka").options(**servers, topic="orders").mode("append").save()
    df = spark.read.format("pykafka").options(**servers, subscribe="orders").load()
    stream = spark.readStream.format("pykafka").options(
        **servers, subscribe="orders", startingOffsets="earliest"
    )
    rows = stream.load()
    updates = rows.groupBy("key").agg(F.count("*").cast("string").alias("value"))
    return {
        **{"spark": spark, "kafka": servers, "df": df, "stream": rows, "updates": updates},
        **{"to": {**servers, "topic": "totals"}, "SparkSession": SparkSession},
        **{"reader": spark.read.format("pykafka").options(**servers, subscribe="orders")},
        **{"writeStream": rows.writeStream, "options": {**servers, "subscribe": "orders"}},
        # Modules and classes that the text names.
        **{"KafkaDataSource": KafkaDataSource, "kafka_spark_source": kafka_spark_source},
        "logging": logging,
    }


def replaced_in(folder: Path, kafka: KafkaCluster) -> dict[str, str]:
    servers = kafka.bootstrap_servers
    return {
        **{"localhost:9092": servers, "kafka-1:9092": servers},
        **{"/tmp/": f"{folder}/", "/data/": f"{folder}/", "/var/lib/node_exporter": f"{folder}"},
        '("checkpointLocation", "...")': f'("checkpointLocation", "{folder}/checkpoint")',
        **{"port=9400": "port=0", "awaitTermination()": "awaitTermination(1)"},
        # A stream that reads what it writes has no end.
        '"topic": "orders"': '"topic": "written"',
    }


@pytest.mark.parametrize("page", GUIDES)
def test_a_guide(page: str, spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> None:
    with Tour(f"docs/{page}", names_before(spark, kafka), replaced_in(tmp_path, kafka)) as tour:
        if tour.next_text == "query.stop()":
            tour.names["query"] = tour.names["stream"].writeStream.format("noop").start()
        tour.run_all()
    for query in spark.streams.active:
        query.processAllAvailable()
        assert query.exception() is None
    frames = [each for each in tour.names.values() if isinstance(each, DataFrame)]
    assert all(each.count() for each in frames if not each.isStreaming)


def test_the_guide_of_formats(
    spark: SparkSession,
    kafka: KafkaCluster,
    schema_registry: SchemaRegistry,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    servers, topic = kafka.bootstrap_servers, "guide-orders"
    client = RegistryClient(RegistryConfig.from_options({"url": schema_registry.url}))
    client.register(f"{topic}-value", NewSchema("AVRO", json.dumps(ORDER)))
    client.register("com.shop.Order", NewSchema("AVRO", json.dumps(SHOP | ORDER)))
    client.register("com.shop.Payment", NewSchema("AVRO", json.dumps(SHOP | PAYMENT)))
    client.register("guide-lines-value", NewSchema("AVRO", json.dumps(WITH_LINES)))
    descriptor_set(tmp_path, {"orders.proto": PROTO}, "orders.proto").rename(
        tmp_path / "orders.desc"
    )
    monkeypatch.chdir(tmp_path)
    replaced = {"orders-value": f"{topic}-value"}
    replaced |= {"http://127.0.0.1:8081/apis/ccompat/v7": schema_registry.url}
    replaced |= {'"orders"': f'"{topic}"', "'orders'": f"'{topic}'"}
    names: dict[str, Any] = {"spark": spark, "kafka": {"kafka.bootstrap.servers": servers}}
    lines = spark.read.format("pykafka").options(**names["kafka"], subscribe="guide-lines")
    produce(servers, topic, ["broken"])
    with Tour("docs/formats.md", names, replaced) as tour:
        names = tour.names
        tour.run("readStream")
        assert names["orders"].schema["value"].dataType.simpleString() == (
            "struct<id:bigint,customer:string,amount:double>"
        )
        names["reader"] = lines.options(**names["registry"]).option("value.format", "avro")
        tour.run('.schema("value struct<')
        assert names["df"].columns == ["value", "offset"]
        tour.run("_error is not null")
        dead = spark.read.format("pykafka").options(**names["kafka"])
        letters = dead.option("subscribe", "orders-dead-letters").load().select("value")
        assert [bytes(row["value"]) for row in letters.collect()] == [b"broken"]
        tour.run("value.subjects")
        assert names["events"].schema["value"].dataType.simpleString() == (
            "struct<_type:string,Order:struct<id:bigint,customer:string,amount:double>,"
            "Payment:struct<card:string>>"
        )
        shop = {**names["kafka"], **names["registry"], **names["types"]}
        names["reader"] = spark.read.format("pykafka").options(**shop, subscribe=topic)
        tour.run('.schema("value struct<_type')
        assert names["df"].columns == ["value"]
        orders = [(1, "ann", 12.5)]
        names["df"] = spark.createDataFrame(orders, "id long, customer string, amount double")
        tour.run('"topic": "orders"}')
        of_topic = spark.read.format("pykafka").options(**names["kafka"], subscribe=topic)
        names["df"] = of_topic.load().where("value <> 'broken'")
        tour.run("import from_avro")
        assert names["payloads"].collect() == names["df"].select("value").collect()
        names["df"] = spark.createDataFrame([(bytearray(b"\x08\x05"),)], "value binary")
        tour.run("import from_protobuf")
        assert names["payloads"].collect() == names["df"].collect()
        for part in ('"protobuf", "value', "protobuf.descriptor"):
            tour.run(part)
            assert parse_alone({**names["registry"], **names["read"]}).formats.payloads
        names["reader"] = of_topic
        tour.run('.option("value.format", "json")')
        assert names["df"].schema["value"].dataType.simpleString() == (
            "struct<id:bigint,customer:string,lines:array<struct<sku:string>>>"
        )
        names["df"] = letters
        tour.run("from_json")
        tour.run("glue.region")
        assert parse_alone({**names["registry"], **names["read"]}).formats.payloads
