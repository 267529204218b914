"""The examples of streams, run as a user runs them."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

import pyspark
import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from kafka_spark_source.testing import CONVENIENT, KafkaCluster
from kafka_spark_source.testing.plugin import ClusterFactory
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.addressed import lengths
from tests.integration.example_processes import (
    GOODBYE_SECONDS,
    run_example,
    running_example,
)
from tests.own_process import descendants_of, outputs_of
from tests.witness import IN_ORDER

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.slow]

SINCE_4_2 = pyspark.__version__ >= "4.2"
needs_lag = pytest.mark.skipif(
    not SINCE_4_2, reason="since 4.2 Spark reports the latest offsets of a Python source"
)


class Order(NamedTuple):
    item: str
    quantity: int
    second: int  # since the beginning of 2026


BEGINNING = datetime(2026, 1, 1, tzinfo=timezone.utc)
ITEMS = ["apples", "pears", "plums", "Äpfel", "林檎"]
WINDOW = 300
DELAY = 600

Sales = dict[tuple[str, int], tuple[int, int]]
"""Orders and their quantity, by item and the beginning of the window."""


def sales_of(orders: Iterable[Order]) -> Sales:
    counts: Counter[tuple[str, int]] = Counter()
    quantities: Counter[tuple[str, int]] = Counter()
    for item, quantity, second in orders:
        key = item, second // WINDOW * WINDOW
        counts[key] += 1
        quantities[key] += quantity
    return {key: (count, quantities[key]) for key, count in counts.items()}


def complete(sales: Sales, newest: int) -> Sales:
    """The sales of the windows that are complete: a further order would be late."""
    return {key: sale for key, sale in sales.items() if key[1] + WINDOW <= newest - DELAY}


Row = tuple[tuple[str, int], tuple[int, int]]
"""((item, second), (orders, quantity))"""


def sales_in_files(spark: SparkSession, output: Path) -> list[Row]:
    columns = "item", "unix_seconds(start)", "unix_seconds(end)", "orders", "quantity"
    rows = spark.read.parquet(str(output / "sales")).selectExpr(*columns).collect()
    assert all(end - start == WINDOW for _, start, end, _, _ in rows)
    zero = int(BEGINNING.timestamp())
    return sorted(((item, start - zero), (count, sum_)) for item, start, _, count, sum_ in rows)


def sales_in_kafka(spark: SparkSession, servers: str, topic: str) -> list[Row]:
    reader = spark.read.format("pykafka").option("kafka.bootstrap.servers", servers)
    records = reader.option("subscribe", topic).load()
    sales = []
    for key, json_text in records.selectExpr("string(key)", "string(value)").collect():
        value = json.loads(json_text)
        start = datetime.fromisoformat(value["start"].replace("Z", "+00:00"))
        assert key == f"{value['item']} {start:%Y-%m-%d %H:%M}"
        second = round((start - BEGINNING).total_seconds())
        sales.append(((value["item"], second), (value["orders"], value["quantity"])))
    return sorted(sales)


def write(servers: str, topic: str, values: Iterable[str | None]) -> None:
    producer = Producer({"bootstrap.servers": servers, **IN_ORDER})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0


def json_of(order: Order) -> str:
    time = BEGINNING + timedelta(seconds=order.second)
    return json.dumps(
        {
            "order_id": order.second,
            "item": order.item,
            "quantity": order.quantity,
            "event_time": f"{time:%Y-%m-%dT%H:%M:%SZ}",
        }
    )


@pytest.mark.timeout(600)
def test_streaming_orders(
    spark: SparkSession, kafka_cluster_factory: ClusterFactory, tmp_path: Path
) -> None:
    servers = kafka_cluster_factory(config=CONVENIENT).bootstrap_servers
    output, topic = tmp_path / "shop", "streaming-orders"
    own = ("--servers", servers, "--topic", topic, "--output", str(output))
    command = "examples/streaming_orders.py", *own, "--available-now"
    sample = [Order(ITEMS[number % 5], number % 9 + 1, number) for number in range(3_000)]
    more = [Order("plums", 3, second) for second in range(3_000, 6_000, 2)]
    in_time, too_late = Order("pears", 5, 2_300), Order("pears", 7, 100)

    def expect(orders: Iterable[Order], newest: int) -> None:
        expected = sorted(complete(sales_of(orders), newest).items())
        assert sales_in_files(spark, output) == expected
        assert sales_in_kafka(spark, servers, f"{topic}-sales") == expected

    run_example(*command, "--sample", "3000")
    # Before 4.2 the trigger runs one batch, and the next run moves the watermark: it completes
    # windows, and drops late orders.
    if SINCE_4_2:
        expect(sample, newest=2_999)
    else:
        assert not sales_in_files(spark, output)

    write(servers, topic, [json_of(order) for order in (in_time, too_late, *more)])
    write(servers, topic, ["no order", None, "{}", '{"event_time": "x"}', "[", ""])
    run_example(*command)
    late = [] if SINCE_4_2 else [too_late]
    expect([*sample, in_time, *more, *late], newest=5_998 if SINCE_4_2 else 2_999)
    # The samples, what the test wrote, and nothing of what the example writes.
    assert lengths(servers)[topic] == len(sample) + 2 + len(more) + 6


@needs_lag
def test_live_progress() -> None:
    shown = run_example("examples/live_progress.py", "--seconds", "6").splitlines()
    lines = [line for line in shown if ": written " in line]
    assert len(lines) >= 3
    assert "lag 0, batch " in lines[-1]
    assert shown[-2].startswith("All ")
    assert shown[-2].endswith(" records were read, each once.")
    assert shown[-1] == "Everything is stopped again."


@needs_lag
def test_live_progress_on_ones_own_brokers(kafka_cluster: KafkaCluster) -> None:
    own = ("--servers", kafka_cluster.bootstrap_servers, "--topic", "of-the-demo")
    shown = run_example("examples/live_progress.py", "--seconds", "2", *own)
    assert " records were read, each once." in shown


@needs_lag
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")
def test_live_progress_interrupted() -> None:
    with running_example("examples/live_progress.py", "--seconds", "1000") as process:
        assert process.stdout
        for line in process.stdout:
            if ", batch " in line:
                break
        family = [process.pid, *descendants_of(process.pid)]
        assert len(family) > 3  # a supervisor with its broker, and Spark
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        shown, errors = outputs_of(process)
    assert process.returncode == 128 + signal.SIGINT, errors
    assert shown.endswith("Interrupted.\nEverything is stopped again.\n")
    assert "Traceback" not in errors
    assert Deadline(GOODBYE_SECONDS).wait_for(
        lambda: not any(Path(f"/proc/{pid}").exists() for pid in family)
    )
