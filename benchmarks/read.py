"""One Spark session: Spark's own Kafka connector and pykafka on the same topics.

    make bench-read

Both read the same rows into the `noop` sink in turns. The ceiling runs beside them: a Python data
source that yields ready-made Arrow batches of the same columns and sizes. The table shows medians.
Rounds alternate between the contenders because the load of the machine changes. Compare figures
only within one run. Both connectors verify checksums.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from rich.progress import Progress
from rich.table import Table

from benchmarks.ceiling import Ceiling
from benchmarks.report import RESULTS, broker, connector_jars, console, pyplot, save, session
from benchmarks.topics import PARTITIONS, Topic, filled_topic, rows_of

FIRST_QUERY = Path(__file__).with_name("first_query.py")
CONTENDERS = ("kafka", "pykafka", "ceiling")
LONG_SECONDS = 600
WARM_UP = 2
COLD_ROWS = 1_000
COLD_ROUNDS = 3


def into_noop(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


class Workload(NamedTuple):
    """The contents of the topic, and the query on it.

    Attributes:
        name: Its name for `--workload` and in the table.
        value_bytes: The size of each value.
        codec: The compression of batches.
        headers: Whether records have two headers, which are read.
        columns: The columns to read, as a DDL schema; empty: all of them.
        finish: The action on the rows.
    """

    name: str
    value_bytes: int = 100
    codec: str = "none"
    headers: bool = False
    columns: str = ""
    finish: Callable[[DataFrame], object] = into_noop


WORKLOADS = [
    Workload("100 B"),
    *(Workload(f"100 B {codec}", codec=codec) for codec in ("gzip", "snappy", "lz4", "zstd")),
    Workload("1 kB", 1_000),
    Workload("1 kB lz4", 1_000, "lz4"),
    Workload("10 kB", 10_000),
    Workload("headers", headers=True),
    Workload("offset, value", columns="offset long, value binary"),
    Workload("count()", finish=DataFrame.count),
    Workload("count() of offset", columns="offset long", finish=DataFrame.count),
]


def topic_of(
    servers: str, workload: Workload, rows: int, batch_bytes: int
) -> AbstractContextManager[Topic]:
    """A topic with at least `rows` rows, the same in each of its partitions; gone afterwards."""
    name = "read-" + "".join(letter if letter.isalnum() else "-" for letter in workload.name)
    each = rows_of(-(-rows // PARTITIONS), workload.value_bytes, headers=workload.headers)
    return filled_topic(servers, name, each, batch_bytes, workload.codec)


def reader_of(spark: SparkSession, contender: str, topic: Topic) -> DataFrameReader:
    reader = spark.read.format(contender)
    return reader.option("kafka.bootstrap.servers", topic.servers).option("subscribe", topic.name)


def rows_of_jvm(spark: SparkSession, topic: Topic, workload: Workload) -> DataFrame:
    reader = reader_of(spark, "kafka", topic)
    rows = reader.option("includeHeaders", workload.headers).load()
    # Spark's connector takes no schema; Spark drops the other columns later.
    names = [column.split()[0] for column in workload.columns.split(", ") if column]
    return rows.select(*names) if names else rows


def rows_of_pykafka(spark: SparkSession, topic: Topic, workload: Workload) -> DataFrame:
    reader = reader_of(spark, "pykafka", topic)
    return projected(reader, workload).load()


def rows_of_ceiling(spark: SparkSession, topic: Topic, workload: Workload) -> DataFrame:
    reader = spark.read.format("ceiling").option("rows", topic.rows)
    reader = reader.option("partitions", PARTITIONS).option("valueBytes", workload.value_bytes)
    return projected(reader, workload).load()


def projected(reader: DataFrameReader, workload: Workload) -> DataFrameReader:
    if workload.headers:
        reader = reader.option("includeHeaders", "true")
    return reader.schema(workload.columns) if workload.columns else reader


READERS: dict[str, Callable[[SparkSession, Topic, Workload], DataFrame]] = {
    "kafka": rows_of_jvm,
    "pykafka": rows_of_pykafka,
    "ceiling": rows_of_ceiling,
}


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def one_query(spark: SparkSession, contender: str, topic: Topic, workload: Workload) -> None:
    workload.finish(READERS[contender](spark, topic, workload))


def check_rows(spark: SparkSession, topic: Topic, workload: Workload) -> None:
    """A contender that drops rows would be the fastest."""
    for contender, read in READERS.items():
        count = read(spark, topic, workload).count()
        if count != topic.rows:
            raise RuntimeError(f"{contender} reads {count} rows of {topic.rows} ({workload.name})")


def measure(
    spark: SparkSession, servers: str, workloads: list[Workload], options: argparse.Namespace
) -> list[dict[str, object]]:
    """A row for each workload and contender."""
    results: list[dict[str, object]] = []
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("", total=len(workloads) * (WARM_UP + options.rounds))
        for workload in workloads:
            progress.update(bar, description=f"{workload.name}: filling the topic")
            rows = options.rows * 200 // max(200, workload.value_bytes)
            with topic_of(servers, workload, rows, options.batch_bytes) as topic:
                check_rows(spark, topic, workload)
                seconds: dict[str, list[float]] = {contender: [] for contender in CONTENDERS}
                for _ in range(WARM_UP + options.rounds):
                    progress.update(bar, advance=1, description=workload.name)
                    for contender, spent in seconds.items():
                        spent.append(timed(partial(one_query, spark, contender, topic, workload)))
            results += summary(workload, topic.rows, seconds)
    return results


def summary(
    workload: Workload, rows: int, seconds: dict[str, list[float]]
) -> list[dict[str, object]]:
    rates = {
        name: sorted(rows / each for each in spent[WARM_UP:]) for name, spent in seconds.items()
    }
    medians = {name: statistics.median(each) for name, each in rates.items()}
    return [
        {
            "workload": workload.name,
            "contender": name,
            "rows": rows,
            "rows_per_second": round(medians[name]),
            "slowest": round(rates[name][0]),
            "fastest": round(rates[name][-1]),
            "to_kafka": round(medians[name] / medians["kafka"], 2),
            "to_ceiling": round(medians[name] / medians["ceiling"], 2),
        }
        for name in CONTENDERS
    ]


def measure_cold(servers: str, jars: str) -> list[dict[str, object]]:
    """Measure the first query of a session, each in a process of its own."""
    jars_of = {"kafka": jars, "pykafka": "", "ceiling": ""}
    seconds: dict[str, list[dict[str, float]]] = {name: [] for name in jars_of}
    with topic_of(servers, Workload("cold"), COLD_ROWS, 16_384) as topic:
        for _ in range(COLD_ROUNDS):
            for name, spent in seconds.items():
                arguments = (name, servers, topic.name, jars_of[name])
                done = subprocess.run(
                    [sys.executable, str(FIRST_QUERY), *arguments],
                    stdout=subprocess.PIPE,
                    check=True,
                    timeout=LONG_SECONDS,
                )
                spent.append(json.loads(done.stdout))
    return [
        {
            "contender": name,
            "seconds": round(statistics.median(each["query"] for each in spent), 2),
            "with_session": round(statistics.median(each["with_session"] for each in spent), 2),
        }
        for name, spent in seconds.items()
    ]


def show(results: list[dict[str, Any]], cold: list[dict[str, object]]) -> None:
    table = Table("workload", "reader", "rows/s", "range, k", "x kafka", "x ceiling")
    for row in results:
        table.add_row(
            str(row["workload"]),
            str(row["contender"]),
            f"{row['rows_per_second']:,}",
            f"{row['slowest'] // 1000:,}..{row['fastest'] // 1000:,}",
            f"{row['to_kafka']:.2f}",
            f"{row['to_ceiling']:.2f}",
            end_section=row["contender"] == CONTENDERS[-1],
        )
    console.print(table)
    if cold:
        table = Table("first query", "s", "s with the session's start")
        for row in cold:
            table.add_row(str(row["contender"]), str(row["seconds"]), str(row["with_session"]))
        console.print(table)


def plot(results: list[dict[str, object]], file: Path) -> None:
    """Draw the speed relative to Spark's own connector as bars, for each workload."""
    plt = pyplot()
    labels = list(dict.fromkeys(str(row["workload"]) for row in results))
    figure, axes = plt.subplots(figsize=(11, 4.5), layout="constrained")
    for i, contender in enumerate(CONTENDERS):
        heights = [float(str(row["to_kafka"])) for row in results if row["contender"] == contender]
        places = np.arange(len(labels)) + (i - 1) * 0.27
        axes.bar_label(axes.bar(places, heights, 0.27, label=contender), fmt="%.1f", fontsize=7)
    axes.set_xticks(range(len(labels)), labels, rotation=20, ha="right")
    axes.set_ylabel("times the rows per second of kafka")
    axes.set_title("Reading four partitions into Spark's noop sink, local[2], checksums verified")
    axes.legend()
    figure.savefig(file, dpi=120)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000, help="of 100 bytes; fewer if larger")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--batch-bytes", type=int, default=65_536, help="of a batch before compression"
    )
    names = [workload.name for workload in WORKLOADS]
    parser.add_argument("--workload", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--no-cold", dest="cold", action="store_false", help="skip first queries")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write into")
    return parser.parse_args()


def main() -> None:
    options = parse()
    jars = connector_jars("bench-read")
    workloads = [each for each in WORKLOADS if each.name in options.workload]
    with broker() as cluster:
        cold = measure_cold(cluster.bootstrap_servers, jars) if options.cold else []
        with session(jars, Ceiling) as spark:
            results = measure(spark, cluster.bootstrap_servers, workloads, options)
    show(results, cold)
    options.results.mkdir(exist_ok=True, parents=True)
    plot(results, options.results / "read.png")
    settings = {"rows": options.rows, "rounds": options.rounds, "batch_bytes": options.batch_bytes}
    save(options.results / "read.json", settings | {"results": results, "first_query": cold})


if __name__ == "__main__":
    main()
