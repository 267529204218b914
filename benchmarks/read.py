"""Spark's own Kafka connector and pykafka on the same topics, in several Spark sessions.

    make bench-read             # a selection
    make bench-read BENCH=full  # every size of values and batches, every codec

Both read the same rows into the `noop` sink in turns, in sessions with the settings that help
sources in Python. The ceiling runs beside them: a Python data source that yields ready-made Arrow
batches of the same columns and sizes. "No JVM" is pykafka on Sail. The table shows medians. Rounds
alternate between the contenders because the load of the machine changes. Compare figures only
within one run. Both connectors verify checksums.

Java compiles code by what ran before, and not alike in two processes: the same read takes up to
twice as much CPU in one session as in another. So each round runs in several sessions, one after
the other. Each is a process of its own, which waits while the others work.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from rich.progress import Progress
from rich.table import Table

from benchmarks.connectors import CONNECTORS, WITH_CEILING
from benchmarks.processes import Processes, Run
from benchmarks.report import RESULTS, broker, connector_jars, console, save
from benchmarks.rounds import results_of, shuffled
from benchmarks.session import add_conf_argument, conf_of
from benchmarks.session_process import Query
from benchmarks.sessions import Session
from benchmarks.topics import PARTITIONS, Topic, filled_topic, rows_of
from kafka_spark_source.diagnosis.pyspark_archive import Bytecode, bytecode_in, pyspark_archive
from kafka_spark_source.testing import KafkaCluster

FIRST_QUERY = Path(__file__).with_name("first_query.py")
NO_JVM = "pykafka, no JVM"
CONTENDERS = (*CONNECTORS, "ceiling", NO_JVM)
LONG_SECONDS = 600
# Java compiles the code of both connectors anew when records of another kind come.
WARM_UP = 4
COLD_ROWS = 1_000
COLD_ROUNDS = 3


def into_noop(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


class Workload(NamedTuple):
    """The contents of the topic, and the query on it.

    Attributes:
        value_bytes: The size of each value; half of it can be compressed.
        batch_rows: The records of a batch, at most; as many as fit in 900 kB.
        codec: The compression of batches.
        headers: Whether records have two headers, which are read.
        columns: The columns to read, as a DDL schema; empty: all of them.
        counts: Whether rows are counted only.
        query: What differs in the query, for the name.
    """

    value_bytes: int = 100
    batch_rows: int = 1_000
    codec: str = "none"
    headers: bool = False
    columns: str = ""
    counts: bool = False
    query: str = ""

    @property
    def name(self) -> str:
        """Its name for `--workload` and in the table."""
        size = f"{self.value_bytes // 1_000} kB" if self.value_bytes >= 1_000 else "100 B"
        codec = "" if self.codec == "none" else self.codec
        return " ".join(filter(None, [size, f"x {self.batch_rows:,}", codec, self.query]))


SIZES = (100, 1_000, 10_000)
# Rows of 100 bytes for each size of batches; small ones take long to write, and to read.
ROWS = {1: 200_000, 5: 500_000, 30: 1_000_000, 1_000: 2_000_000}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

EVERY = [Workload(*each) for each in itertools.product(SIZES, ROWS, CODECS)]
QUERIES = [
    Workload(headers=True, query="headers"),
    Workload(columns="offset long, value binary", query="offset, value"),
    Workload(counts=True, query="count()"),
    Workload(columns="offset long", counts=True, query="count() of offset"),
]
QUICK = [
    *(Workload(batch_rows=rows, codec=codec) for rows in ROWS for codec in ("none", "lz4")),
    Workload(codec="zstd"),
    Workload(1_000),
    Workload(1_000, codec="lz4"),
    Workload(1_000, 5),
    Workload(10_000),
    Workload(10_000, 5, "lz4"),
]
FULL = os.environ.get("BENCH") == "full"
WORKLOADS = [*(EVERY if FULL else QUICK), *QUERIES]


def topic_of(servers: str, workload: Workload, factor: float) -> AbstractContextManager[Topic]:
    """A topic with the rows of the workload times `factor`; gone afterwards.

    They are the same in each of its partitions.
    """
    name = "read-" + "".join(letter if letter.isalnum() else "-" for letter in workload.name)
    rows = int(ROWS[workload.batch_rows] * factor) * 200 // max(200, workload.value_bytes)
    each = rows_of(-(-rows // PARTITIONS), workload.value_bytes, headers=workload.headers)
    return filled_topic(servers, name, each, workload.codec, batch_rows=workload.batch_rows)


def query_of(contender: str, topic: Topic, workload: Workload) -> Query:
    """The read of a contender."""
    columns, counts, headers = workload.columns, workload.counts, workload.headers
    if contender == "ceiling":
        facts = {"rows": topic.rows, "partitions": PARTITIONS, "valueBytes": workload.value_bytes}
        name, options = contender, {fact: str(value) for fact, value in facts.items()}
    else:
        name, options = CONNECTORS["pykafka" if contender == NO_JVM else contender]
    return Query(
        name, topic.servers, topic.name, columns, headers=headers, counts=counts, options=options
    )


class SessionPair(NamedTuple):
    """A session of Spark, and the one without a JVM."""

    spark: Session
    no_jvm: Session

    def of(self, contender: str) -> Session:
        """The session where a contender runs."""
        return self.no_jvm if contender == NO_JVM else self.spark

    def timed(self, contender: str, query: Query, broker_pid: int) -> Run:
        """Run a query to its end."""
        session = self.of(contender)
        processes = Processes(session.server, broker_pid, has_jvm=contender != NO_JVM)
        return processes.timed(partial(session.run, query))

    def check_rows(self, topic: Topic, workload: Workload) -> None:
        """A contender that drops rows would be the fastest."""
        queries = {each: query_of(each, topic, workload) for each in CONTENDERS}
        counts = {
            each: self.of(each).run(query._replace(counts=True)).rows
            for each, query in queries.items()
        }
        wrong = {name: count for name, count in counts.items() if count != topic.rows}
        if wrong:
            raise RuntimeError(f"not {topic.rows} rows of {workload.name}: {wrong}")


def measure(
    pairs: Sequence[SessionPair],
    cluster: KafkaCluster,
    workloads: list[Workload],
    options: argparse.Namespace,
) -> list[dict[str, object]]:
    """A row for each workload and contender."""
    results: list[dict[str, object]] = []
    turns = [*itertools.product(range(WARM_UP + options.rounds), pairs)]
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("", total=len(workloads) * len(turns))
        for workload in workloads:
            progress.update(bar, description=f"{workload.name}: filling the topic")
            with topic_of(cluster.bootstrap_servers, workload, options.factor) as topic:
                pairs[0].check_rows(topic, workload)
                queries = {each: query_of(each, topic, workload) for each in CONTENDERS}
                runs: dict[str, list[Run]] = {contender: [] for contender in CONTENDERS}
                for turn, (number, pair) in enumerate(turns):
                    progress.update(bar, advance=1, description=workload.name)
                    for contender in shuffled(CONTENDERS, turn):
                        broker_pid = cluster.brokers[0].pid or 0
                        run = pair.timed(contender, queries[contender], broker_pid)
                        if number >= WARM_UP:
                            runs[contender].append(run)
            results += summary(workload, topic.rows, runs)
    return results


def summary(
    workload: Workload, rows: int, runs: Mapping[str, Sequence[Run]]
) -> list[dict[str, object]]:
    facts = {
        "workload": workload.name,
        "value_bytes": workload.value_bytes,
        "batch_rows": workload.batch_rows,
        "codec": workload.codec,
        "query": workload.query,
    }
    return [facts | each for each in results_of(rows, runs, WITH_CEILING)]


def measure_cold(servers: str, jars: str) -> list[dict[str, object]]:
    """Measure the first query of a session, each in a process of its own."""
    jars_of = {"kafka": jars, "pykafka": "", "ceiling": ""}
    seconds: dict[str, list[dict[str, float]]] = {name: [] for name in jars_of}
    with topic_of(servers, Workload(query="cold"), COLD_ROWS / ROWS[1_000]) as topic:
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
    kinds = ("python", "jvm", "broker")
    table = Table(
        "workload", "reader", "rows/s", "x kafka", "x tuned", "quartiles", "x ceiling",
        *(f"{kind}, ns" for kind in kinds),
    )  # fmt: skip
    for row in results:
        table.add_row(
            row["workload"],
            row["contender"],
            f"{row['rows_per_second']:,}",
            f"{row['to_kafka']:.2f}",
            f"{row['to_tuned']:.2f}",
            "..".join(f"{each:.2f}" for each in row["to_tuned_quartiles"]),
            f"{row['to_ceiling']:.2f}",
            *(f"{row['cpu_ns'][kind]:,}" for kind in kinds),
            end_section=row["contender"] == CONTENDERS[-1],
        )
    console.print(table)
    if cold:
        table = Table("first query", "s", "s with the session's start")
        for each in cold:
            table.add_row(str(each["contender"]), str(each["seconds"]), str(each["with_session"]))
        console.print(table)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--factor", type=float, default=1, help="of the numbers of rows")
    parser.add_argument("--sessions", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2, help="of each session")
    add_conf_argument(parser)
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
        with ExitStack() as stack:
            no_jvm = stack.enter_context(closing(Session("pysail")))
            conf = conf_of(options)
            pairs = [
                SessionPair(stack.enter_context(closing(Session("pyspark", conf))), no_jvm)
                for _ in range(options.sessions)
            ]
            results = measure(pairs, cluster, workloads, options)
    show(results, cold)
    options.results.mkdir(exist_ok=True, parents=True)
    settings = {
        "contenders": CONNECTORS,
        "factor": options.factor,
        "sessions": options.sessions,
        "rounds": options.rounds,
        "conf": options.conf,
    }
    has_bytecode = bytecode_in(pyspark_archive()) is Bytecode.OWN
    figures = {"results": results, "first_query": cold, "has_bytecode": has_bytecode}
    save(options.results / "read.json", settings | figures)


if __name__ == "__main__":
    main()
