"""Starts a real broker, writes order events with Spark, reads them back and checks them.

`make demo` runs it. It starts Apache Kafka from Maven's jars, which the first run downloads, and
stops everything that it started. With `--servers` it makes a topic on your brokers.
"""

from __future__ import annotations

import argparse
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from local_kafka import arguments, start_servers, stop_servers

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from kafka_protocol.arrow_io.topic import create_topic

EVENTS = 30_000
PARTITIONS = 3
STEPS = 6

console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)


class Steps:
    """Shows the current step, its progress, and the duration of each finished step."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bar = progress.add_task("", total=STEPS)
        self._number = 0

    @contextmanager
    def step(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show one of STEPS steps; yields a function that adds a detail to it."""
        self._number += 1
        self._progress.update(self._bar, description=what)
        if not console.is_terminal:  # without a progress bar, print each start
            console.print(f"{self._number}/{STEPS} {what} ...")
        started = time.monotonic()
        yield lambda detail: self._progress.update(self._bar, description=f"{what}: {detail}")
        seconds = time.monotonic() - started
        self._progress.advance(self._bar)
        self._progress.console.print(f"[green]done[/green] {what} ({seconds:.1f} s)")

    @contextmanager
    def spark_step(self, what: str, spark: SparkSession) -> Iterator[None]:
        """Show a step that Spark runs, with the number of finished tasks."""
        finished = threading.Event()

        def watch(detail: Callable[[str], None]) -> None:
            tracker = spark.sparkContext.statusTracker()
            while not finished.wait(0.3):
                stages = filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds()))
                counts = [(stage.numCompletedTasks, stage.numTasks) for stage in stages]
                if counts:
                    done, total = map(sum, zip(*counts, strict=True))
                    detail(f"{done} of {total} tasks")

        with self.step(what) as detail:
            watcher = threading.Thread(target=watch, args=(detail,), daemon=True)
            watcher.start()
            try:
                yield
            finally:
                finished.set()
                watcher.join()


def start_spark() -> SparkSession:
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("pykafka demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def order_events(spark: SparkSession) -> DataFrame:
    """Orders of 500 customers; some are cancelled, with a null value (Kafka's tombstone)."""
    orders = spark.range(EVENTS, numPartitions=2).select(
        F.col("id").alias("order_id"),
        F.concat(F.lit("customer-"), F.pmod(F.hash("id"), F.lit(500))).alias("customer"),
        F.element_at(
            F.array(*map(F.lit, ["apples", "pears", "plums", "Äpfel", "林檎"])),
            (F.pmod(F.hash("id", F.lit(1)), F.lit(5)) + 1).cast("int"),
        ).alias("item"),
        (F.pmod(F.hash("id", F.lit(2)), F.lit(9)) + 1).alias("quantity"),
        F.timestamp_millis(F.lit(1_767_225_600_000) + F.col("id") * 1_000).alias("event_time"),
    )
    event = F.to_json(F.struct("order_id", "customer", "item", "quantity", "event_time"))
    return orders.select(
        F.col("customer").cast("binary").alias("key"),
        F.when(F.col("order_id") % 97 != 0, event).cast("binary").alias("value"),
        F.array(
            F.struct(F.lit("source").alias("key"), F.lit("demo").cast("binary").alias("value")),
            F.struct(
                F.lit("order_id").alias("key"),
                F.col("order_id").cast("string").cast("binary").alias("value"),
            ),
        ).alias("headers"),
    )


def show_partitions(read: DataFrame) -> None:
    rows = (
        read.groupBy("partition")
        .agg(
            F.count("*").alias("records"),
            F.sum(F.col("value").isNull().cast("int")).alias("tombstones"),
            F.min("offset").alias("first"),
            F.max("offset").alias("last"),
            F.sum(F.get_json_object(F.col("value").cast("string"), "$.quantity")).alias("quantity"),
        )
        .orderBy("partition")
        .collect()
    )
    table = Table("partition", "records", "tombstones", "offsets", "quantity", title="By partition")
    for row in rows:
        span = f"{row['first']} to {row['last']}"
        table.add_row(
            str(row["partition"]),
            f"{row['records']:,}",
            f"{row['tombstones']:,}",
            span,
            f"{row['quantity']:,.0f}",
        )
    console.print(table)


def show_rows(read: DataFrame) -> None:
    rows = read.where("offset < 3").orderBy("partition", "offset").collect()
    table = Table("partition", "offset", "timestamp", "key", "value", "headers", title="First rows")
    for row in rows:
        headers = ", ".join(f"{h['key']}={bytes(h['value']).decode()}" for h in row["headers"])
        value = "null" if row["value"] is None else bytes(row["value"]).decode()
        table.add_row(
            str(row["partition"]),
            str(row["offset"]),
            f"{row['timestamp']:%H:%M:%S}",
            bytes(row["key"]).decode(),
            value,
            headers,
        )
    console.print(table)


def check(sent: DataFrame, read: DataFrame) -> None:
    """Check that every record came back exactly once, byte for byte; otherwise the demo fails."""
    came_back = read.select("key", "value", "headers").cache()
    lost = sent.exceptAll(came_back).count()
    extra = came_back.exceptAll(sent).count()
    if lost or extra:
        sys.exit(f"{lost} records are lost or changed, {extra} records were never sent")


def run(servers: str, topic: str, spark: SparkSession, steps: Steps) -> None:
    kafka = {"kafka.bootstrap.servers": servers}
    with steps.step(f"Create the topic {topic!r} with {PARTITIONS} partitions"):
        create_topic(topic, {"bootstrap.servers": servers}, partitions=PARTITIONS)
    sent = order_events(spark)
    with steps.spark_step(f"Write {EVENTS:,} order events, lz4", spark):
        (
            sent.write.format("pykafka")
            .options(**kafka, topic=topic)
            .option("kafka.compression.type", "lz4")
            .mode("append")
            .save()
        )
    read = (
        spark.read.format("pykafka").options(**kafka, subscribe=topic, includeHeaders="true").load()
    )
    with steps.spark_step("Read them back", spark):
        show_rows(read)
        show_partitions(read)
    with steps.spark_step("Check that every record came back exactly once, byte for byte", spark):
        check(sent, read)


def parse() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--topic", default="orders", help="the name of a new topic")
    return parser.parse_args()


def main() -> None:
    options = parse()
    # Shows pykafka's warnings, not Spark's.
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        steps = Steps(progress)
        with steps.step("Start Apache Kafka") as detail:
            start_servers(options, on_progress=detail)
        try:
            with steps.step("Start Spark"):
                spark = start_spark()
            try:
                run(options.servers, options.topic, spark, steps)
            finally:
                spark.stop()
        finally:
            stop_servers()
    console.print(f"[bold green]All {EVENTS:,} records came back; everything is stopped again.[/]")


if __name__ == "__main__":
    main()
