"""Values as text: `.schema("value string")` beside `CAST(value AS STRING)`, and Spark's connector.

    make bench-text

All read the same topic into the `noop` sink in turns, in one session. The table shows medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from rich.progress import Progress
from rich.table import Table

from benchmarks.report import RESULTS, broker, connector_jars, console, save
from benchmarks.session import start
from benchmarks.topics import PARTITIONS, Topic, filled_topic, rows_of
from kafka_spark_source.testing import KafkaCluster

WARM_UP = 1
CAST = "cast(value as string) as value"
# The size of a value in bytes, and the rows of a topic.
SIZES = {1_000: 400_000, 10_000: 40_000}


def read(spark: SparkSession, name: str, topic: Topic, schema: str = "") -> DataFrame:
    reader = spark.read.format(name).option("kafka.bootstrap.servers", topic.servers)
    reader = reader.option("subscribe", topic.name)
    return (reader.schema(schema) if schema else reader).load()


CONTENDERS: dict[str, Callable[[SparkSession, Topic], DataFrame]] = {
    "kafka, CAST": lambda spark, topic: read(spark, "kafka", topic).selectExpr(CAST),
    "pykafka, CAST": lambda spark, topic: read(spark, "pykafka", topic).selectExpr(CAST),
    "pykafka, binary, CAST": lambda spark, topic: read(
        spark, "pykafka", topic, "value binary"
    ).selectExpr(CAST),
    "pykafka, string": lambda spark, topic: read(spark, "pykafka", topic, "value string"),
}


class Result(NamedTuple):
    """The median of some runs, in seconds, and how many times as fast as Spark's connector."""

    value_bytes: int
    contender: str
    rows: int
    seconds: float
    to_kafka: float


def seconds_of(rows: DataFrame) -> float:
    start = time.perf_counter()
    rows.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def measure(spark: SparkSession, cluster: KafkaCluster, rounds: int) -> list[Result]:
    """Each contender in turns, on each size."""
    results: list[Result] = []
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("", total=len(SIZES) * (WARM_UP + rounds))
        for value_bytes, count in SIZES.items():
            name = f"text-{value_bytes}"
            rows = rows_of(count // PARTITIONS, value_bytes, headers=False)
            with filled_topic(cluster.bootstrap_servers, name, rows, "none") as topic:
                runs: dict[str, list[float]] = {each: [] for each in CONTENDERS}
                for _ in range(WARM_UP + rounds):
                    progress.update(bar, advance=1, description=f"{value_bytes:,} bytes")
                    for contender, seconds in runs.items():
                        seconds.append(seconds_of(CONTENDERS[contender](spark, topic)))
                medians = {each: statistics.median(done[WARM_UP:]) for each, done in runs.items()}
                first = medians["kafka, CAST"]
                results += [
                    Result(value_bytes, each, topic.rows, round(took, 3), round(first / took, 2))
                    for each, took in medians.items()
                ]
    return results


def show(results: list[Result]) -> None:
    table = Table("bytes", "reader", "rows", "s", "x kafka")
    for each in results:
        table.add_row(
            f"{each.value_bytes:,}",
            each.contender,
            f"{each.rows:,}",
            f"{each.seconds:.2f}",
            f"{each.to_kafka:.2f}",
            end_section=each.contender == "pykafka, string",
        )
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write into")
    options = parser.parse_args()
    with broker() as cluster:
        spark = start(connector_jars("bench-text"), {})
        try:
            results = measure(spark, cluster, options.rounds)
        finally:
            spark.stop()
    show(results)
    options.results.mkdir(exist_ok=True, parents=True)
    figures = {"rounds": options.rounds, "results": [each._asdict() for each in results]}
    save(options.results / "text.json", figures)


if __name__ == "__main__":
    main()
