"""One Spark session: the same rows written by Spark's own Kafka connector and by pykafka.

    make bench-write

The rows are in Spark's cache, so making them takes no time. Both connectors write them with their
defaults and with equal producer settings (`tuned`), with idempotence on. pykafka also writes them
exactly once, which Spark's connector cannot. A Python sink that drops its rows is the upper limit.
Rounds alternate between the contenders because the load of the machine changes. Compare figures
only within one run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from rich.progress import Progress
from rich.table import Table

from benchmarks.dropping_sink import DroppingSink
from benchmarks.report import RESULTS, broker, connector_jars, console, pyplot, save, session
from benchmarks.topics import PARTITIONS, new_topic
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.log_bounds import list_log_bounds_of_topic
from kafka_protocol.topic_partition import TopicPartition

SIZES = {"100 B": 100, "1 kB": 1_000}
TUNED = {"kafka.compression.type": "lz4", "kafka.linger.ms": "50", "kafka.batch.size": "262144"}
SETTINGS: dict[str, dict[str, str]] = {"defaults": {}, "tuned": TUNED}
EXACTLY_ONCE = "pykafka, exactly once"
CEILING = "a Python sink that drops rows"
CONTENDERS = ("kafka", "pykafka", EXACTLY_ONCE, CEILING)
FORMATS = {EXACTLY_ONCE: "pykafka", CEILING: DroppingSink.name()}
# Control records of transactions: at most one for each task in each partition.
MOST_MARKERS = PARTITIONS * PARTITIONS
WARM_UP = 1
NOISE_BYTES = 32
BAR_WIDTH = 0.2

Result = dict[str, Any]


class Workload(NamedTuple):
    """The rows to write, and the settings of the writer."""

    size: str
    settings: str

    def __str__(self) -> str:
        return f"{self.size}, {self.settings}"


WORKLOADS = [Workload(size, settings) for size in SIZES for settings in SETTINGS]


def rows_of(spark: SparkSession, count: int, value_bytes: int) -> DataFrame:
    """Rows in Spark's cache. Values compress about as well as JSON: one half is random."""
    pieces = max(1, value_bytes // 2 // NOISE_BYTES)
    noise = ", ".join(f"unhex(sha2(concat(id, ' {piece}'), 256))" for piece in range(pieces))
    same = value_bytes - pieces * NOISE_BYTES
    rows = spark.range(0, count, 1, PARTITIONS).selectExpr(
        "binary(concat('key ', id % 1000)) AS key",
        f"concat({noise}, binary(repeat('x', {same}))) AS value",
    )
    rows = rows.cache()
    rows.write.format("noop").mode("overwrite").save()
    return rows


def write(rows: DataFrame, contender: str, servers: str, settings: str, count: int) -> float:
    """Write the rows to a new topic; returns rows per second."""
    name = f"written-{time.monotonic_ns()}"
    with new_topic(servers, name):
        writer = rows.write.format(FORMATS.get(contender, contender)).options(**SETTINGS[settings])
        writer = writer.option("kafka.bootstrap.servers", servers).option("topic", name)
        if contender == EXACTLY_ONCE:
            writer = writer.option("deliveryGuarantee", "exactly_once")
            writer = writer.option("transactionalIdPrefix", "benchmark")
        begun = time.perf_counter()
        writer.mode("append").save()
        seconds = time.perf_counter() - begun
        there = records_in(servers, name)
    # A contender that drops rows would be the fastest.
    if contender == CEILING:
        return count / seconds
    markers = MOST_MARKERS if contender == EXACTLY_ONCE else 0
    if not count <= there <= count + markers:
        raise RuntimeError(f"{contender} wrote {there} rows of {count}")
    return count / seconds


def records_in(servers: str, topic: str) -> int:
    cluster = Cluster(ClientConfig.from_options({"bootstrap.servers": servers}))
    try:
        deadline = Deadline.after(60_000)
        cluster.topics([topic], deadline)
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        return sum(list_log_bounds_of_topic(cluster, each, None).latest for each in partitions)
    finally:
        cluster.close()


def measure(spark: SparkSession, servers: str, options: argparse.Namespace) -> list[Result]:
    results = []
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("", total=None)
        for size, value_bytes in SIZES.items():
            count = options.bytes // (value_bytes + 100)
            progress.update(bar, description=f"{size}: making {count:,} rows")
            rows = rows_of(spark, count, value_bytes)
            rates: dict[tuple[Workload, str], list[float]] = {}
            for number in range(WARM_UP + options.rounds):
                first = number % len(CONTENDERS)  # none always follows the same one
                for workload in (each for each in WORKLOADS if each.size == size):
                    for contender in CONTENDERS[first:] + CONTENDERS[:first]:
                        progress.update(bar, description=f"{workload}: round {number}, {contender}")
                        rate = write(rows, contender, servers, workload.settings, count)
                        rates.setdefault((workload, contender), []).append(rate)
            rows.unpersist()
            results += summary(count, rates)
    return results


def summary(count: int, rates: dict[tuple[Workload, str], list[float]]) -> list[Result]:
    medians = {key: statistics.median(each[WARM_UP:]) for key, each in rates.items()}
    return [
        {
            "workload": str(workload),
            "contender": contender,
            "rows": count,
            "rows_per_second": round(median),
            "slowest": round(min(rates[workload, contender][WARM_UP:])),
            "fastest": round(max(rates[workload, contender][WARM_UP:])),
            "to_kafka": round(median / medians[workload, "kafka"], 2),
        }
        for (workload, contender), median in medians.items()
    ]


COLUMNS = {
    "workload": "workload",
    "writer": "contender",
    "rows/s": "rows_per_second",
    "slowest": "slowest",
    "fastest": "fastest",
    "x kafka": "to_kafka",
}


def show(results: list[Result]) -> None:
    table = Table(*COLUMNS, title="writing")
    for row in results:
        cells = (row[name] for name in COLUMNS.values())
        table.add_row(*(each if isinstance(each, str) else f"{each:,}" for each in cells))
    console.print(table)


def plot(results: list[Result], file: Path) -> None:
    """Draw rows per second as bars, by workload."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    for i, contender in enumerate(CONTENDERS):
        bars = [row for row in results if row["contender"] == contender]
        places = np.arange(len(bars)) + i * BAR_WIDTH
        drawn = axes.bar(
            places, [row["rows_per_second"] for row in bars], BAR_WIDTH, label=contender
        )
        axes.bar_label(drawn, fmt="{:,.0f}", fontsize=7)
        axes.set_xticks(np.arange(len(bars)) + BAR_WIDTH, [row["workload"] for row in bars])
    axes.set_ylabel("rows per second")
    axes.legend()
    figure.savefig(file, dpi=120)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", type=int, default=400_000_000, help="of all rows, roughly")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write into")
    return parser.parse_args()


def main() -> None:
    options = parse()
    jars = connector_jars("bench-write")
    with broker() as cluster, session(jars, DroppingSink) as spark:
        results = measure(spark, cluster.bootstrap_servers, options)
    show(results)
    options.results.mkdir(exist_ok=True, parents=True)
    plot(results, options.results / "write.png")
    settings = {"tuned": TUNED, "rounds": options.rounds}
    save(options.results / "write.json", settings | {"write": results})


if __name__ == "__main__":
    main()
