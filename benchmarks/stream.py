"""One Spark session: Spark's own Kafka connector and pykafka as streams.

    make bench-stream

Three measurements. Catching up: `availableNow` over a backlog in ten micro-batches, into the `noop`
sink. Latency: micro-batches of three rows, each written when the one before is done. Idle: the CPU
of a query without new rows. The ceiling runs beside both connectors: a Python source whose offset
is a number in a file. Rounds alternate between the contenders because the load of the machine
changes. Compare figures only within one run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.progress import Progress
from rich.table import Table

from benchmarks.catch_up import CatchUp, catch_up, check_rows, writer_of
from benchmarks.feeds import (
    BATCH_ROWS,
    CONNECTORS,
    CONTENDERS,
    Feed,
    feed_of,
    finished_at,
    started,
    wait_for_rows,
)
from benchmarks.idle import idle
from benchmarks.report import RESULTS, broker, connector_jars, console, save, session
from benchmarks.rounds import Result, ratios, shuffled
from benchmarks.session import add_conf_argument, conf_of
from benchmarks.topics import PARTITIONS, filled_topic, rows_of
from benchmarks.trivial_stream import CeilingStream

BACKLOGS = {"100 B": 100, "1 kB": 1_000}
WORKLOADS = (*BACKLOGS, "latency", "idle")
REFERENCES = {"to_kafka": "kafka", "to_tuned": "kafka, tuned"}
# Java compiles the code of both connectors in the first rounds: the third takes half of the first.
WARM_UP = 3
WARM_UP_BATCHES = 10

Step = Callable[[str], None]


def measure_catch_up(
    spark: SparkSession, servers: str, options: argparse.Namespace, step: Step
) -> list[Result]:
    """A row for each size of values and connector."""
    results: list[Result] = []
    for name in [each for each in BACKLOGS if each in options.workload]:
        step(f"{name}: filling the topic")
        each = rows_of(-(-options.rows // PARTITIONS), BACKLOGS[name])
        topic_name = f"backlog-{BACKLOGS[name]}"
        with filled_topic(servers, topic_name, each, batch_bytes=options.batch_bytes) as topic:
            check_rows(spark, topic)
            runs: dict[str, list[CatchUp]] = {contender: [] for contender in CONTENDERS}
            for number in range(WARM_UP + options.rounds):
                step(f"{name}: round {number}")
                for contender in shuffled(CONTENDERS, number):
                    with writer_of(spark, contender, topic, BACKLOGS[name]) as writer:
                        runs[contender].append(catch_up(writer, topic.rows))
        results += summary_of_catch_up(name, topic.rows, runs)
    return results


def summary_of_catch_up(name: str, rows: int, runs: dict[str, list[CatchUp]]) -> list[Result]:
    done = {contender: each[WARM_UP:] for contender, each in runs.items()}
    seconds = {contender: [run.seconds for run in each] for contender, each in done.items()}
    in_batches = {
        contender: [run.batch_seconds for run in each] for contender, each in done.items()
    }
    return [
        {
            "workload": name,
            "contender": contender,
            "rows": rows,
            "batches": max(run.batches for run in done[contender]),
            "rows_per_second": round(rows / statistics.median(seconds[contender])),
            **ratios(seconds, contender, REFERENCES),
            **ratios(in_batches, contender, {"in_batches_to_tuned": "kafka, tuned"}),
        }
        for contender in done
    ]


class Latency(NamedTuple):
    """Times of a micro-batch in ms: from acknowledgement to completion, and its trigger alone."""

    waited: float
    trigger: float


def latencies(query: StreamingQuery, feed: Feed, count: int) -> list[Latency]:
    seen: list[Latency] = []
    for number in range(1, WARM_UP_BATCHES + count + 1):
        feed.write()
        written = time.time()
        progress = wait_for_rows(query, feed, number * BATCH_ROWS)
        waited = (finished_at(progress) - written) * 1000
        seen.append(Latency(waited, progress.durationMs["triggerExecution"]))
    return seen[WARM_UP_BATCHES:]


def measure_latency(
    spark: SparkSession, servers: str, options: argparse.Namespace, step: Step
) -> list[Result]:
    """A row for each contender, over the micro-batches of all rounds."""
    rounds: dict[str, list[list[Latency]]] = {contender: [] for contender in CONTENDERS}
    for number in range(WARM_UP + options.rounds):
        step(f"latency: round {number}")
        count = options.batches if number >= WARM_UP else 0
        for contender in shuffled(CONTENDERS, number):
            with (
                feed_of(spark, contender, servers, PARTITIONS) as feed,
                started(feed.stream.writeStream.format("noop")) as query,
            ):
                rounds[contender].append(latencies(query, feed, count))
    kept = {contender: seen[WARM_UP:] for contender, seen in rounds.items()}
    medians = {
        contender: [statistics.median(each.waited for each in one) for one in seen]
        for contender, seen in kept.items()
    }
    return [
        {
            "contender": contender,
            "batches": options.rounds * options.batches,
            **percentiles("", [each.waited for one in seen for each in one]),
            **percentiles("trigger_", [each.trigger for one in seen for each in one]),
            **ratios(medians, contender, REFERENCES),
        }
        for contender, seen in kept.items()
    ]


def percentiles(prefix: str, values: list[float]) -> Result:
    return {
        f"{prefix}p{percent}_ms": round(float(np.percentile(values, percent)))
        for percent in (50, 95, 99)
    }


def measure_idle(
    spark: SparkSession, servers: str, options: argparse.Namespace, step: Step
) -> list[Result]:
    """A row for each contender: the medians of the rounds."""
    # The setting of `kafka, tuned` concerns tasks, and an idle query runs no task.
    contenders = [each for each in CONTENDERS if each != "kafka, tuned"]
    seen: dict[str, list[dict[str, float]]] = {contender: [] for contender in contenders}
    for number in range(options.rounds):
        step(f"idle: round {number}")
        for contender in shuffled(contenders, number):
            used = idle(spark, contender, servers, options.idle_partitions, options.seconds)
            seen[contender].append(used)
    return [
        {"contender": contender}
        | {name: round(statistics.median(each[name] for each in rounds), 1) for name in rounds[0]}
        for contender, rounds in seen.items()
    ]


MEASUREMENTS = {
    "catch_up": (measure_catch_up, tuple(BACKLOGS)),
    "latency": (measure_latency, ("latency",)),
    "idle": (measure_idle, ("idle",)),
}


def measure(
    spark: SparkSession, servers: str, options: argparse.Namespace
) -> dict[str, list[Result]]:
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("", total=None)

        def step(what: str) -> None:
            progress.update(bar, description=what)

        return {
            name: one(spark, servers, options, step)
            for name, (one, workloads) in MEASUREMENTS.items()
            if {*workloads} & {*options.workload}
        }


TABLES = {
    "catch_up": {
        "backlog": "workload",
        "reader": "contender",
        "rows/s": "rows_per_second",
        "x kafka": "to_kafka",
        "x tuned": "to_tuned",
        "in batches: x tuned": "in_batches_to_tuned",
    },
    "latency": {
        "reader": "contender",
        "p50, ms": "p50_ms",
        "p95": "p95_ms",
        "p99": "p99_ms",
        "x kafka": "to_kafka",
        "x tuned": "to_tuned",
        "trigger's p50": "trigger_p50_ms",
    },
    "idle": {
        "reader": "contender",
        "its process, % of a core": "reader_percent",
        "JVM, % of a core": "jvm_percent",
        "offset requests, 1/s": "asked_per_second",
    },
}


def show(results: dict[str, list[Result]]) -> None:
    for measurement, rows in results.items():
        columns = TABLES[measurement]
        table = Table(*columns, title=measurement.replace("_", " "))
        for row in rows:
            cells = (row.get(name, "") for name in columns.values())
            table.add_row(*(each if isinstance(each, str) else f"{each:,}" for each in cells))
        console.print(table)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000, help="of a backlog")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=30, help="of a round of latency")
    parser.add_argument("--seconds", type=float, default=20, help="of a round of idle")
    parser.add_argument("--idle-partitions", type=int, default=100, help="of an idle topic")
    parser.add_argument(
        "--nodes", type=int, default=1, help="brokers; a partition takes one four open files"
    )
    parser.add_argument("--batch-bytes", type=int, default=65_536, help="of a backlog's batch")
    add_conf_argument(parser)
    parser.add_argument("--workload", nargs="+", choices=WORKLOADS, default=WORKLOADS)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write into")
    return parser.parse_args()


def main() -> None:
    options = parse()
    jars = connector_jars("bench-stream")
    with broker(options.nodes) as cluster, session(jars, CeilingStream, conf_of(options)) as spark:
        results = measure(spark, cluster.bootstrap_servers, options)
    show(results)
    options.results.mkdir(exist_ok=True, parents=True)
    settings = {
        "contenders": CONNECTORS,
        "rows": options.rows,
        "rounds": options.rounds,
        "batches": options.batches,
        "seconds": options.seconds,
        "idle_partitions": options.idle_partitions,
        "nodes": options.nodes,
        "batch_bytes": options.batch_bytes,
        "conf": options.conf,
    }
    save(options.results / "stream.json", settings | results)


if __name__ == "__main__":
    main()
