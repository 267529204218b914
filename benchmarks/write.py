"""One Spark session: the same rows written by Spark's own Kafka connector and by pykafka.

    make bench-write

The rows are in Spark's cache, so making them takes no time. Both connectors write them with their
defaults and with equal producer settings (`tuned`), with idempotence on. pykafka also writes them
exactly once, which Spark's connector cannot, and with Arrow batches of Spark's default size. A
Python sink that drops its rows is the upper limit. The table shows medians. Rounds alternate
between the contenders because the load of the machine changes. Compare figures only within one run.

Before the first round a broker and Spark's connector get many writes: while Java compiles their
code, which takes some twenty seconds, a row takes up to four times as much CPU.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from rich.progress import Progress
from rich.table import Table

from benchmarks.dropping_sink import DroppingSink
from benchmarks.processes import Processes, Run, jvm_of
from benchmarks.report import RESULTS, broker, connector_jars, console, save, session
from benchmarks.rounds import Result, results_of, shuffled
from benchmarks.session import ARROW_BATCH, add_conf_argument, conf_of
from benchmarks.topics import PARTITIONS, new_topic
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.log_bounds import list_log_bounds_of_topic
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster

TUNED = {"kafka.linger.ms": "50", "kafka.batch.size": "1000000"}
EXACTLY_ONCE = "pykafka, exactly once"
SPARKS_BATCHES = "pykafka, Spark's Arrow batches"
CEILING = "a Python sink that drops rows"
CONTENDERS = ("kafka", "pykafka", EXACTLY_ONCE, SPARKS_BATCHES, CEILING)
FORMATS = {EXACTLY_ONCE: "pykafka", SPARKS_BATCHES: "pykafka", CEILING: DroppingSink.name()}
# Control records of transactions: at most one for each task in each partition.
MOST_MARKERS = PARTITIONS * PARTITIONS
WARM_UP = 1
WARM_UP_OF_JAVA = 5
NOISE_BYTES = 32


class Values(NamedTuple):
    """The values of all rows: their size, and whether one half of each is random.

    Random ones compress about as well as JSON, the others to nearly nothing.
    """

    size: int
    has_noise: bool = True

    def __str__(self) -> str:
        size = f"{self.size // 1_000} kB" if self.size >= 1_000 else f"{self.size} B"
        return size if self.has_noise else f"{size} repeated"

    @property
    def sql(self) -> str:
        """The expression that makes a value from `id`."""
        pieces = max(1, self.size // 2 // NOISE_BYTES) if self.has_noise else 0
        noise = [f"unhex(sha2(concat(id, ' {piece}'), 256))" for piece in range(pieces)]
        same = f"binary(repeat('x', {self.size - pieces * NOISE_BYTES}))"
        return f"concat({', '.join([*noise, same])})"


class Workload(NamedTuple):
    """The rows to write, and the settings of the writer."""

    values: Values
    codec: str
    is_tuned: bool = True

    def __str__(self) -> str:
        return f"{self.values} {self.codec}{' tuned' if self.is_tuned else ''}"

    @property
    def options(self) -> dict[str, str]:
        """The options of the writer."""
        settings = TUNED if self.is_tuned else {}
        return settings | {"kafka.compression.type": self.codec}


VALUES = (Values(100), Values(1_000), Values(1_000, has_noise=False), Values(10_000))
CODECS = ("none", "lz4", "zstd")
WORKLOADS = [
    *(Workload(values, "none", is_tuned=False) for values in VALUES[:-1]),
    *(Workload(*each) for each in itertools.product(VALUES[:-1], CODECS)),
    *(Workload(VALUES[-1], codec) for codec in CODECS[:-1]),
]


def rows_of(spark: SparkSession, count: int, values: Values) -> DataFrame:
    """Rows in Spark's cache."""
    rows = spark.range(0, count, 1, PARTITIONS).selectExpr(
        "binary(concat('key ', id % 1000)) AS key", f"{values.sql} AS value"
    )
    rows = rows.cache()
    rows.write.format("noop").mode("overwrite").save()
    return rows


def write(
    rows: DataFrame, contender: str, servers: str, workload: Workload, processes: Processes
) -> tuple[Run, int]:
    """Write the rows to a new topic; returns the run and the number of records there."""
    name = f"written-{time.monotonic_ns()}"
    with new_topic(servers, name):
        writer = rows.write.format(FORMATS.get(contender, contender)).options(**workload.options)
        writer = writer.option("kafka.bootstrap.servers", servers).option("topic", name)
        if contender == EXACTLY_ONCE:
            writer = writer.option("deliveryGuarantee", "exactly_once")
            writer = writer.option("transactionalIdPrefix", "benchmark")
        is_tuned = contender != SPARKS_BATCHES
        with nullcontext() if is_tuned else sparks_batches(rows.sparkSession):
            run = processes.timed(partial(writer.mode("append").save))
        return run, records_in(servers, name)


@contextmanager
def sparks_batches(spark: SparkSession) -> Iterator[None]:
    """Let Spark pass Arrow batches of its default size meanwhile."""
    tuned = str(spark.conf.get(ARROW_BATCH))
    spark.conf.unset(ARROW_BATCH)
    try:
        yield
    finally:
        spark.conf.set(ARROW_BATCH, tuned)


def warm_up(rows: DataFrame, servers: str, processes: Processes) -> None:
    """Write until Java has compiled the code of the broker and of Spark's connector."""
    for workload in WARM_UP_OF_JAVA * [Workload(VALUES[0], "none"), Workload(VALUES[0], "lz4")]:
        for contender in ("kafka", "pykafka"):
            write(rows, contender, servers, workload, processes)


def again_if_it_fails(
    attempt: Callable[[], tuple[Run, int]], contender: str, failures: list[str]
) -> tuple[Run, int]:
    """Write once more if Spark's connector fails; `failures` gets the reason.

    On this machine a batch of its producer expires now and then, after two minutes of nothing.
    """
    try:
        return attempt()
    except Py4JJavaError as error:
        if contender != "kafka":
            raise
        failures.append(str(error.java_exception)[:300])
        return attempt()


def check_rows(contender: str, count: int, there: int) -> None:
    """A contender that drops rows would be the fastest."""
    if contender == CEILING:
        return
    markers = MOST_MARKERS if contender == EXACTLY_ONCE else 0
    if not count <= there <= count + markers:
        raise RuntimeError(f"{contender} wrote {there} rows of {count}")


def records_in(servers: str, topic: str) -> int:
    cluster = Cluster(ClientConfig.from_options({"bootstrap.servers": servers}))
    try:
        deadline = Deadline.after(60_000)
        cluster.topics([topic], deadline)
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        return sum(list_log_bounds_of_topic(cluster, each, None).latest for each in partitions)
    finally:
        cluster.close()


def measure(
    spark: SparkSession, cluster: KafkaCluster, workloads: list[Workload], options: Any
) -> tuple[list[Result], list[str]]:
    """A row for each workload and contender; and the failures of Spark's connector."""
    results: list[Result] = []
    failures: list[str] = []
    processes = Processes(jvm_of(spark), cluster.brokers[0].pid or 0)
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("warming up", total=len(workloads) * (WARM_UP + options.rounds))
        few = rows_of(spark, options.bytes // 600, VALUES[0])
        warm_up(few, cluster.bootstrap_servers, processes)
        few.unpersist()
        for values, group in itertools.groupby(workloads, lambda each: each.values):
            count = options.bytes // (values.size + 100)
            progress.update(bar, description=f"{values}: making {count:,} rows")
            rows = rows_of(spark, count, values)
            for workload in group:
                runs: dict[str, list[Run]] = {contender: [] for contender in CONTENDERS}
                for number in range(WARM_UP + options.rounds):
                    progress.update(bar, advance=1, description=f"{workload}: round {number}")
                    for contender in shuffled(CONTENDERS, number):
                        servers = cluster.bootstrap_servers
                        attempt = partial(write, rows, contender, servers, workload, processes)
                        run, there = again_if_it_fails(attempt, contender, failures)
                        check_rows(contender, count, there)
                        runs[contender].append(run)
                results += summary(workload, count, runs)
            rows.unpersist()
    return results, failures


def summary(workload: Workload, rows: int, runs: dict[str, list[Run]]) -> list[Result]:
    measured = {name: done[WARM_UP:] for name, done in runs.items()}
    facts = {
        "workload": str(workload),
        "values": str(workload.values),
        "codec": workload.codec,
        "is_tuned": workload.is_tuned,
    }
    references = {"to_kafka": "kafka", "to_ceiling": CEILING}
    return [facts | each for each in results_of(rows, measured, references)]


def show(results: list[Result]) -> None:
    kinds = ("python", "jvm", "broker")
    table = Table(
        "workload", "writer", "rows/s", "x kafka", "quartiles",
        *(f"{kind}, ns" for kind in kinds), title="writing",
    )  # fmt: skip
    for row in results:
        table.add_row(
            row["workload"],
            row["contender"],
            f"{row['rows_per_second']:,}",
            f"{row['to_kafka']:.2f}",
            "..".join(f"{each:.2f}" for each in row["to_kafka_quartiles"]),
            *(f"{row['cpu_ns'][kind]:,}" for kind in kinds),
            end_section=row["contender"] == CONTENDERS[-1],
        )
    console.print(table)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", type=int, default=600_000_000, help="of all rows, roughly")
    parser.add_argument("--rounds", type=int, default=5)
    names = [str(workload) for workload in WORKLOADS]
    parser.add_argument("--workload", nargs="+", choices=names, default=names, metavar="NAME")
    add_conf_argument(parser)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write into")
    return parser.parse_args()


def main() -> None:
    options = parse()
    jars = connector_jars("bench-write")
    workloads = sorted(
        (each for each in WORKLOADS if str(each) in options.workload),
        key=lambda each: VALUES.index(each.values),
    )
    with broker() as cluster, session(jars, DroppingSink, conf_of(options)) as spark:
        results, failures = measure(spark, cluster, workloads, options)
    show(results)
    for each in failures:
        console.print(f"failed, and done again: {each}")
    options.results.mkdir(exist_ok=True, parents=True)
    settings = {"tuned": TUNED, "rounds": options.rounds, "conf": options.conf}
    figures = {"write": results, "failures_of_kafka": failures}
    save(options.results / "write.json", settings | figures)


if __name__ == "__main__":
    main()
