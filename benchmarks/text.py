"""Values as text: `.schema("value string")` beside `CAST(value AS STRING)`, and Spark's connector.

    make bench-text

All read the same topic into the `noop` sink in turns, in one session. The table shows medians.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from rich.progress import Progress
from rich.table import Table

from benchmarks.ceiling import Ceiling
from benchmarks.connectors import CONNECTORS
from benchmarks.processes import Processes, Run, jvm_of
from benchmarks.read import WARM_UP, into_noop
from benchmarks.report import RESULTS, broker, connector_jars, console, save, session
from benchmarks.rounds import Result, results_of, shuffled
from benchmarks.session import add_conf_argument, conf_of
from benchmarks.topics import PARTITIONS, Topic, filled_topic, rows_of
from kafka_spark_source.testing import KafkaCluster

CAST = "cast(value as string) as value"
# The size of a value in bytes, and the rows of a topic.
SIZES = {1_000: 400_000, 10_000: 40_000}
REFERENCES = {"to_kafka": "kafka, CAST", "to_tuned": "kafka, tuned, CAST"}


def read(spark: SparkSession, contender: str, topic: Topic, schema: str = "") -> DataFrame:
    name, options = CONNECTORS[contender]
    reader = spark.read.format(name).options(**options)
    reader = reader.option("kafka.bootstrap.servers", topic.servers)
    reader = reader.option("subscribe", topic.name)
    return (reader.schema(schema) if schema else reader).load()


CONTENDERS: dict[str, Callable[[SparkSession, Topic], DataFrame]] = {
    "kafka, CAST": lambda spark, topic: read(spark, "kafka", topic).selectExpr(CAST),
    "kafka, tuned, CAST": lambda spark, topic: read(spark, "kafka, tuned", topic).selectExpr(CAST),
    "pykafka, CAST": lambda spark, topic: read(spark, "pykafka", topic).selectExpr(CAST),
    "pykafka, binary, CAST": lambda spark, topic: read(
        spark, "pykafka", topic, "value binary"
    ).selectExpr(CAST),
    "pykafka, string": lambda spark, topic: read(spark, "pykafka", topic, "value string"),
}


def measure(spark: SparkSession, cluster: KafkaCluster, rounds: int) -> list[Result]:
    """Each contender in turns, on each size."""
    results: list[Result] = []
    processes = Processes(jvm_of(spark), cluster.brokers[0].pid or 0)
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("", total=len(SIZES) * (WARM_UP + rounds))
        for value_bytes, count in SIZES.items():
            rows = rows_of(count // PARTITIONS, value_bytes, headers=False)
            name = f"text-{value_bytes}"
            with filled_topic(cluster.bootstrap_servers, name, rows, "none") as topic:
                runs: dict[str, list[Run]] = {each: [] for each in CONTENDERS}
                for number in range(WARM_UP + rounds):
                    progress.update(bar, advance=1, description=f"{value_bytes:,} bytes")
                    for contender in shuffled(CONTENDERS, number):
                        query = partial(into_noop, CONTENDERS[contender](spark, topic))
                        runs[contender].append(processes.timed(query))
            measured = {name: done[WARM_UP:] for name, done in runs.items()}
            results += [
                {"value_bytes": value_bytes} | each
                for each in results_of(topic.rows, measured, REFERENCES)
            ]
    return results


def show(results: list[Result]) -> None:
    table = Table("bytes", "reader", "rows/s", "x kafka", "x tuned", "quartiles")
    for row in results:
        table.add_row(
            f"{row['value_bytes']:,}",
            row["contender"],
            f"{row['rows_per_second']:,}",
            f"{row['to_kafka']:.2f}",
            f"{row['to_tuned']:.2f}",
            "..".join(f"{each:.2f}" for each in row["to_tuned_quartiles"]),
            end_section=row["contender"] == "pykafka, string",
        )
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    add_conf_argument(parser)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write into")
    options = parser.parse_args()
    jars = connector_jars("bench-text")
    with broker() as cluster, session(jars, Ceiling, conf_of(options)) as spark:
        results = measure(spark, cluster, options.rounds)
    show(results)
    options.results.mkdir(exist_ok=True, parents=True)
    figures = {"rounds": options.rounds, "conf": options.conf, "results": results}
    save(options.results / "text.json", figures)


if __name__ == "__main__":
    main()
