"""The Python of the guides runs as it stands, but for addresses, folders and names from before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_formats.options.alone import parse_alone
from kafka_formats.registry.client import RegistryClient
from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.schemas import NewSchema
from kafka_spark_source.testing import CONVENIENT, KafkaCluster, SchemaRegistry
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.formats.protobuf.messages import descriptor_set
from tests.integration.guides import GUIDES, Guide, blocks_of
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


def run(code: str, names: dict[str, Any], replaced: Mapping[str, str]) -> None:
    """Run a block. One that begins with a dot continues a read, which becomes `df`."""
    if code.startswith("."):
        read = "spark.read.format('pykafka').options(**kafka, subscribe='orders')"
        code = f"df = ({read}{code}.load())"
    for old, new in replaced.items():
        code = code.replace(old, new)
    exec(code, names)


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


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.page)
def test_a_guide(guide: Guide, spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> None:
    blocks = blocks_of(guide.page)
    assert len(blocks) == guide.blocks
    names = names_before(spark, kafka)
    for block in blocks:
        if not block.startswith(guide.left_out or "\0"):
            run(block, names, replaced_in(tmp_path, kafka))
    for query in spark.streams.active:
        query.processAllAvailable()
        assert query.exception() is None
    frames = [each for each in names.values() if isinstance(each, DataFrame)]
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
    descriptor_set(tmp_path, {"orders.proto": PROTO}, "orders.proto").rename(
        tmp_path / "orders.desc"
    )
    monkeypatch.chdir(tmp_path)
    replaced = {"orders-value": f"{topic}-value"}
    replaced |= {"http://127.0.0.1:8081/apis/ccompat/v7": schema_registry.url}
    replaced |= {'"orders"': f'"{topic}"', "'orders'": f"'{topic}'"}
    orders = spark.createDataFrame([(1, "ann", 12.5)], "id long, customer string, amount double")
    names: dict[str, Any] = {
        "spark": spark,
        "kafka": {"kafka.bootstrap.servers": servers},
        "df": orders,
    }
    blocks = blocks_of("formats.md")

    def run_that_with(part: str) -> None:
        (block,) = (each for each in blocks if part in each)
        blocks.remove(block)
        run(block, names, replaced)

    run(blocks[0].partition("orders = ")[0], names, replaced)
    run_that_with('"topic": "orders"}')
    run_that_with("readStream")
    assert names["orders"].schema["value"].dataType.simpleString() == (
        "struct<id:bigint,customer:string,amount:double>"
    )
    produce(servers, topic, ["broken"])
    run_that_with("_error is not null")
    reader = spark.read.format("pykafka").options(**names["kafka"])
    letters = reader.option("subscribe", "orders-dead-letters").load().select("value")
    assert [bytes(row["value"]) for row in letters.collect()] == [b"broken"]
    names["df"] = reader.option("subscribe", topic).load().where("value <> 'broken'")
    run_that_with("import from_avro")
    assert names["payloads"].collect() == names["df"].select("value").collect()
    names["df"] = spark.createDataFrame([(bytearray(b"\x08\x05"),)], "value binary")
    run_that_with("import from_protobuf")
    assert names["payloads"].collect() == names["df"].collect()
    run_that_with("from_json")
    run_that_with('.option("value.format", "json")')
    assert names["df"].schema["value"].dataType.simpleString() == (
        "struct<id:bigint,customer:string,lines:array<struct<sku:string>>>"
    )
    for part in ('"protobuf", "value', "protobuf.descriptor", "glue.region"):
        run_that_with(part)
        assert parse_alone({**names["registry"], **names["read"]}).formats.payloads
    assert len(blocks) == 1
    assert blocks[0].startswith('.schema("value struct<')
