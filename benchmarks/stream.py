"""Spark's own Kafka connector and pykafka as streams, in several Spark sessions.

    make bench-stream

Three measurements. Catching up: `availableNow` over a backlog in ten micro-batches, into the `noop`
sink. Latency: micro-batches of three rows, each written when the one before is done. Idle: the CPU
of a query without new rows. The ceiling runs beside both connectors: a Python source whose offset
is a number in a file. Rounds alternate between the contenders because the load of the machine
changes. Compare figures only within one run.

Java compiles code by what ran before, and not alike in two processes: one session shows a connector
ahead, and the next one behind. So each measurement has several sessions of its own, one after the
other, each in a new process.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession
from rich.progress import Progress
from rich.table import Table

from benchmarks.catch_up import CatchUp, catch_up, check_rows, writer_of
from benchmarks.connectors import CONNECTORS, REFERENCES
from benchmarks.feeds import CONTENDERS
from benchmarks.idle import idle
from benchmarks.latency import Latency, latencies, percentiles
from benchmarks.report import RESULTS, broker, connector_jars, console, save, session
from benchmarks.rounds import Result, ratios, shuffled
from benchmarks.session import add_conf_argument, conf_of
from benchmarks.topics import PARTITIONS, filled_topic, rows_of
from benchmarks.trivial_stream import CeilingStream

BACKLOGS = {"100 B": 100, "1 kB": 1_000}
# Java compiles the code of both connectors in the first rounds: the third takes half of the first.
WARM_UP = 3


class Measuring(NamedTuple):
    """A session of Spark with one measurement.

    Attributes:
        rounds: The numbers of its rounds; no other session has them. The first ones warm it up.
        step: Shows what is done.
    """

    spark: SparkSession
    servers: str
    options: argparse.Namespace
    rounds: range
    step: Callable[[str], None]


# Contender -> what each round of it showed.
Runs = dict[str, list[Any]]


def measure_catch_up(value_bytes: int, measuring: Measuring) -> Runs:
    """A `CatchUp` of each round."""
    options = measuring.options
    measuring.step("filling the topic")
    each = rows_of(-(-options.rows // PARTITIONS), value_bytes)
    name = f"backlog-{value_bytes}"
    with filled_topic(measuring.servers, name, each, batch_bytes=options.batch_bytes) as topic:
        check_rows(measuring.spark, topic)
        runs: Runs = {contender: [] for contender in CONTENDERS}
        for number in measuring.rounds:
            measuring.step(f"round {number}")
            for contender in shuffled(CONTENDERS, number):
                with writer_of(measuring.spark, contender, topic, value_bytes) as writer:
                    runs[contender].append(catch_up(writer, topic.rows))
    return {contender: done[WARM_UP:] for contender, done in runs.items()}


def measure_latency(measuring: Measuring) -> Runs:
    """The `Latency` of each micro-batch of each round."""
    runs: Runs = {contender: [] for contender in CONTENDERS}
    for place, number in enumerate(measuring.rounds):
        measuring.step(f"round {number}")
        count = measuring.options.batches if place >= WARM_UP else 0
        for contender in shuffled(CONTENDERS, number):
            seen = latencies(measuring.spark, contender, measuring.servers, count)
            runs[contender].append(seen)
    return {contender: done[WARM_UP:] for contender, done in runs.items()}


def measure_idle(measuring: Measuring) -> Runs:
    """The CPU of each round; Java has nothing to compile, so the first ones do not warm it up."""
    options = measuring.options
    # The options of `kafka, tuned` concern tasks, and an idle query runs no task.
    runs: Runs = {contender: [] for contender in CONTENDERS if contender != "kafka, tuned"}
    for number in measuring.rounds[WARM_UP:]:
        measuring.step(f"round {number}")
        for contender in shuffled(runs, number):
            arguments = (contender, measuring.servers, options.idle_partitions, options.seconds)
            runs[contender].append(idle(measuring.spark, *arguments))
    return runs


def summary_of_catch_up(name: str, rows: int, runs: dict[str, list[CatchUp]]) -> list[Result]:
    seconds = {contender: [run.seconds for run in done] for contender, done in runs.items()}
    in_batches = {
        contender: [run.batch_seconds for run in done] for contender, done in runs.items()
    }
    return [
        {
            "workload": name,
            "contender": contender,
            "rows": rows,
            "batches": max(run.batches for run in done),
            "rows_per_second": round(rows / statistics.median(seconds[contender])),
            **ratios(seconds, contender, REFERENCES),
            **ratios(in_batches, contender, {"in_batches_to_tuned": "kafka, tuned"}),
        }
        for contender, done in runs.items()
    ]


def summary_of_latency(runs: dict[str, list[list[Latency]]]) -> list[Result]:
    medians = {
        contender: [statistics.median(each.waited for each in seen) for seen in done]
        for contender, done in runs.items()
    }
    return [
        {
            "contender": contender,
            "batches": sum(map(len, done)),
            **percentiles("", [each.waited for seen in done for each in seen]),
            **percentiles("trigger_", [each.trigger for seen in done for each in seen]),
            **ratios(medians, contender, REFERENCES),
        }
        for contender, done in runs.items()
    ]


def summary_of_idle(runs: dict[str, list[dict[str, float]]]) -> list[Result]:
    return [
        {"contender": contender}
        | {name: round(statistics.median(each[name] for each in done), 1) for name in done[0]}
        for contender, done in runs.items()
    ]


WORKLOADS: dict[str, Callable[[Measuring], Runs]] = {
    **{name: partial(measure_catch_up, value_bytes) for name, value_bytes in BACKLOGS.items()},
    "latency": measure_latency,
    "idle": measure_idle,
}


def run_session(
    workload: str, jars: str, servers: str, options: argparse.Namespace, number: int
) -> Runs:
    """Measure in a new session of Spark; in this process."""
    count = WARM_UP + options.rounds
    rounds = range(number * count, (number + 1) * count)
    with (
        session(jars, CeilingStream, conf_of(options)) as spark,
        Progress(console=console, transient=True) as progress,
    ):
        bar = progress.add_task("", total=None)

        def step(what: str) -> None:
            progress.update(bar, description=f"{workload}, session {number}: {what}")

        return WORKLOADS[workload](Measuring(spark, servers, options, rounds, step))


def measure(workload: str, jars: str, servers: str, options: argparse.Namespace) -> Runs:
    """The rounds of all sessions, each session in a process of its own."""
    runs: Runs = {}
    for number in range(options.sessions):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            done = process.submit(run_session, workload, jars, servers, options, number).result()
        for contender, rounds in done.items():
            runs.setdefault(contender, []).extend(rounds)
    return runs


def summaries(runs: dict[str, Runs], rows: int) -> dict[str, list[Result]]:
    """The rows of each table whose workloads were measured."""
    caught_up = [
        row
        for name in BACKLOGS
        if name in runs
        for row in summary_of_catch_up(name, rows, runs[name])
    ]
    tables = {
        "catch_up": caught_up,
        "latency": summary_of_latency(runs.get("latency", {})),
        "idle": summary_of_idle(runs.get("idle", {})),
    }
    return {name: table for name, table in tables.items() if table}


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
    parser.add_argument("--sessions", type=int, default=3, help="of each workload")
    parser.add_argument("--rounds", type=int, default=2, help="of each session")
    parser.add_argument("--batches", type=int, default=30, help="of a round of latency")
    parser.add_argument("--seconds", type=float, default=20, help="of a round of idle")
    parser.add_argument("--idle-partitions", type=int, default=100, help="of an idle topic")
    parser.add_argument(
        "--nodes", type=int, default=1, help="brokers; a partition takes one four open files"
    )
    parser.add_argument("--batch-bytes", type=int, default=65_536, help="of a backlog's batch")
    add_conf_argument(parser)
    parser.add_argument("--workload", nargs="+", choices=WORKLOADS, default=[*WORKLOADS])
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write into")
    return parser.parse_args()


def main() -> None:
    options = parse()
    jars = connector_jars("bench-stream")
    with broker(options.nodes) as cluster:
        runs = {
            name: measure(name, jars, cluster.bootstrap_servers, options)
            for name in options.workload
        }
    results = summaries(runs, options.rows)
    show(results)
    options.results.mkdir(exist_ok=True, parents=True)
    settings = {
        "contenders": CONNECTORS,
        "rows": options.rows,
        "sessions": options.sessions,
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
