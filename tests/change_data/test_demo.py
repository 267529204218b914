"""`make demo-cdc` and its parts: a database, Debezium, a stream that is killed, equal tables."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.change_data import workload
from tests.change_data.conftest import ONLY_WITH_NEWEST_DELTA
from tests.change_data.debezium import connector, debezium, topic_of
from tests.change_data.demo import EXAMPLE
from tests.change_data.jars import find
from tests.change_data.lake import FORMATS
from tests.change_data.postgres import accepts, postgres
from tests.own_process import run_command

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    ONLY_WITH_NEWEST_DELTA,
]


def test_a_database_ends_with_its_block() -> None:
    with postgres() as database:
        with closing(database.connect()) as connection:
            workload.create(connection)
            columns, rows = workload.rows_of(connection, "orders")
    assert columns == ["customer", "number", "amount", "placed", "due"]
    assert len(rows) == 200
    assert not accepts(database)


def test_debezium_writes_changes(spark: SparkSession, kafka_cluster: KafkaCluster) -> None:
    servers = kafka_cluster.bootstrap_servers
    with postgres() as database, closing(database.connect()) as connection:
        workload.create(connection)
        with debezium(servers, [connector(database, ["orders"])]):
            connection.execute("UPDATE orders SET customer = 99 WHERE number = 3")
            options = {"kafka.bootstrap.servers": servers, "subscribe": topic_of("orders")}
            topic = spark.read.format("pykafka").options(**options)

            def events() -> list[Any]:
                values = (
                    topic.load().where("value IS NOT NULL").select(F.col("value").cast("string"))
                )
                return [json.loads(row[0]) for row in values.collect()]

            assert Deadline(120).wait_for(lambda: len(events()) == 202)
            assert [each["op"] for each in events()].count("r") == 200
            assert {each["op"] for each in events()} == {"r", "d", "c"}


def test_the_example_without_brokers(tmp_path: Path) -> None:
    jars = str(find(FORMATS["delta"]))
    shown = run_command(tmp_path, [sys.executable, str(EXAMPLE), "--jars", jars])
    cells = [[cell.strip() for cell in line.split("|")] for line in shown.splitlines()]
    assert [row[1:4] for row in cells if len(row) == 5] == [
        ["id", "name", "_tombstone"],
        ["1", "Ann", "false"],
        ["2", "NULL", "true"],
    ]


def test_the_demo(tmp_path: Path) -> None:
    """With a quarter of its changes."""
    shown = run_command(tmp_path, [sys.executable, "-m", "tests.change_data", "--seconds", "15"])
    assert "All rows are equal; everything is stopped again." in shown
    assert "After 2 kills" in shown
