"""The loop of docs/schema-evolution.md, with a real registry, while a producer moves on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from kafka_spark_source.testing.waiting import Deadline
from tests.integration.conftest import MakeTopic
from tests.integration.example_processes import ROOT, python_in
from tests.integration.test_formats import framed
from tests.witness import produce

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SOON_SECONDS = 120
ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
SIZE = {"name": "size", "type": "int", "default": 0}


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Order", "fields": [*fields]}


def test_the_loop_of_the_page(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    schema_registry: SchemaRegistry,
    registered: SchemaRegistryClient,
    make_topic: MakeTopic,
    tmp_path: Path,
) -> None:
    topic, servers = make_topic(1), kafka_cluster.bootstrap_servers
    (code,) = python_in((ROOT / "docs" / "schema-evolution.md").read_text())
    replaced = {'"orders"': f'"{topic}"', "localhost:9092": servers, "/tmp/": f"{tmp_path}/"}
    replaced |= {"http://localhost:8081": schema_registry.url}
    for old, new in replaced.items():
        code = code.replace(old, new)

    def write(schema: dict[str, Any], *orders: dict[str, Any]) -> None:
        produce(servers, topic, framed(registered, topic, schema, orders))

    def rows() -> list[dict[str, Any]]:
        try:
            read = spark.read.option("mergeSchema", True).parquet(str(tmp_path / "orders"))
        except PySparkException:
            return []
        return [row.asDict() for row in read.orderBy("id").collect()]

    def wait_for(count: int) -> list[dict[str, Any]]:
        soon = Deadline(SOON_SECONDS)
        assert soon.wait_for(lambda: len(rows()) == count or not loop.is_alive())
        return rows()

    write(record(ID), {"id": 1}, {"id": 2})
    loop = threading.Thread(target=exec, args=(code, {"spark": spark}))
    loop.start()
    try:
        assert wait_for(2) == [{"id": 1}, {"id": 2}]
        write(record(ID, NOTE), {"id": 3, "note": "c"}, {"id": 4, "note": None})
        notes = [None, None, "c", None]
        assert wait_for(4) == [{"id": n, "note": note} for n, note in enumerate(notes, 1)]
        # Twice in one micro-batch.
        produce(
            servers,
            topic,
            framed(registered, topic, record(ID, NOTE, SIZE), [{"id": 5, "note": "e", "size": 7}])
            + framed(registered, topic, record(ID, NOTE), [{"id": 6, "note": "f"}]),
        )
        assert wait_for(6)[4:] == [
            {"id": 5, "note": "e", "size": 7},
            {"id": 6, "note": "f", "size": 0},
        ]
    finally:
        for query in spark.streams.active:
            query.stop()
        loop.join(SOON_SECONDS)
    assert not loop.is_alive()
