"""One Spark session: topics with many partitions and a few rows in each.

    make bench-wide

Spark's own Kafka connector and pykafka read topics of 4, 100 and 1,000 partitions into the `noop`
sink: 100 rows of each as a batch; a few rows in each partition as micro-batches, each written when
the one before is done; and a backlog in ten micro-batches, each with a part of each log. Rounds
alternate between the contenders because the load of the machine changes. Compare figures only
within one run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.progress import Progress
from rich.table import Table

from benchmarks.catch_up import backlog_of, catch_up
from benchmarks.ceiling import Ceiling
from benchmarks.connectors import CONNECTORS
from benchmarks.feeds import (
    VALUE_BYTES,
    Feed,
    started,
    stream_of,
    wait_for_rows,
    write_and_wait,
)
from benchmarks.report import RESULTS, broker, connector_jars, console, save, session
from benchmarks.rounds import Result, ratios, shuffled
from benchmarks.session import add_conf_argument, conf_of
from benchmarks.topics import Topic, filled_topic, new_topic, rows_of
from kafka_protocol.columnar.writing.encode import encode_batches
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition

ROWS_OF_BATCH_READ: Final = 100
ROWS_OF_MICRO_BATCH: Final = 3
# Of all partitions together.
ROWS_OF_BACKLOG: Final = 200_000
# Spark's connector, tuned, keeps what it fetched ahead for each partition, and Java has 1 GB unless
# told.
MEMORY: Final = {"spark.driver.memory": "4g"}
# With more partitions than it keeps consumers for (64), each of its micro-batches makes them anew.
LARGEST_BACKLOG: Final = 100
BACKLOG_VALUE_BYTES: Final = 1_000
BACKLOG_BATCH_BYTES: Final = 65_536
WARM_UP: Final = 1
# With its defaults, Spark's connector takes minutes for 1,000 partitions.
LARGEST_WITH_DEFAULTS: Final = 100

Step = Callable[[str], None]


def contenders_for(partitions: int) -> list[str]:
    return [name for name in CONNECTORS if name != "kafka" or partitions <= LARGEST_WITH_DEFAULTS]


def read_into_noop(spark: SparkSession, contender: str, topic: Topic) -> float:
    """Seconds of one batch read."""
    name, options = CONNECTORS[contender]
    reader = spark.read.format(name).options(**options)
    reader = reader.option("kafka.bootstrap.servers", topic.servers)
    begun = time.perf_counter()
    reader.option("subscribe", topic.name).load().write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begun


def check_rows(spark: SparkSession, topic: Topic, contenders: list[str]) -> None:
    """A contender that drops rows would be the fastest."""
    for contender in contenders:
        name, options = CONNECTORS[contender]
        reader = spark.read.format(name).options(**options).option("subscribe", topic.name)
        count = reader.option("kafka.bootstrap.servers", topic.servers).load().count()
        if count != topic.rows:
            raise RuntimeError(f"{contender} reads {count} rows of {topic.rows}")


def batch_reads(
    spark: SparkSession, servers: str, partitions: int, options: argparse.Namespace, step: Step
) -> dict[str, list[float]]:
    """Contender -> seconds of each round."""
    rows = rows_of(ROWS_OF_BATCH_READ, VALUE_BYTES)
    seconds: dict[str, list[float]] = {name: [] for name in contenders_for(partitions)}
    name = f"wide-{partitions}"
    with filled_topic(servers, name, rows, partitions=partitions) as topic:
        step("checking the rows")
        check_rows(spark, topic, [*seconds])
        for number in range(WARM_UP + options.rounds):
            for contender in shuffled(seconds, number):
                step(f"{contender}, batch {number}")
                seconds[contender].append(read_into_noop(spark, contender, topic))
    return {name: each[WARM_UP:] for name, each in seconds.items()}


@contextmanager
def wide_feed(spark: SparkSession, contender: str, servers: str, partitions: int) -> Iterator[Feed]:
    """A feed from a new topic, with rows in each partition, which a micro-batch reads together."""
    (batch,) = encode_batches(rows_of(ROWS_OF_MICRO_BATCH, VALUE_BYTES), CompressionCodec.NONE)
    data = batch.data
    name = f"feed-{time.monotonic_ns()}"
    with new_topic(servers, name, partitions) as producer:

        def write() -> None:
            for number in range(partitions):
                producer.add(TopicPartition(name, number), data)
            producer.flush()

        # Otherwise a micro-batch could begin before the last partition is written.
        rows = partitions * ROWS_OF_MICRO_BATCH
        stream = stream_of(spark, contender, servers, name, minOffsetsPerTrigger=rows)
        yield Feed(stream, name, write)


def micro_batches(
    spark: SparkSession, servers: str, partitions: int, options: argparse.Namespace, step: Step
) -> dict[str, list[float]]:
    """Contender -> seconds from the acknowledgement of rows to the end of their micro-batch."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders_for(partitions)}
    for number in range(options.rounds):
        for contender in shuffled(seconds, number):
            step(f"{contender}, stream {number}")
            with wide_feed(spark, contender, servers, partitions) as feed:
                # The first micro-batch waits for no number of rows. If it began during this write,
                # the others would have to wait for maxTriggerDelay, 15 minutes.
                feed.write()
                with started(feed.stream.writeStream.format("noop")) as query:
                    waited = _latencies(query, feed, partitions, options.batches)
                    seconds[contender].extend(waited)
    return seconds


def _latencies(query: StreamingQuery, feed: Feed, partitions: int, count: int) -> Iterator[float]:
    """Seconds of each micro-batch after the first, whose rows are written already."""
    rows = partitions * ROWS_OF_MICRO_BATCH
    wait_for_rows(query, feed, rows)
    for number in range(2, count + 2):
        seconds, _ = write_and_wait(query, feed, number * rows)
        yield seconds


def backlogs(
    spark: SparkSession, servers: str, partitions: int, options: argparse.Namespace, step: Step
) -> dict[str, list[float]]:
    """Contender -> seconds of each round, from the start of the query to its end.

    Empty for more than `LARGEST_BACKLOG` partitions.
    """
    if partitions > LARGEST_BACKLOG:
        return {}
    rows = rows_of(ROWS_OF_BACKLOG // partitions, BACKLOG_VALUE_BYTES)
    seconds: dict[str, list[float]] = {name: [] for name in contenders_for(partitions)}
    name, limit = f"backlog-{partitions}", BACKLOG_BATCH_BYTES
    with filled_topic(servers, name, rows, batch_bytes=limit, partitions=partitions) as topic:
        for number in range(WARM_UP + options.rounds):
            for contender in shuffled(seconds, number):
                step(f"{contender}, backlog {number}")
                writer = backlog_of(spark, contender, topic)
                seconds[contender].append(catch_up(writer, topic.rows).seconds)
    return {name: each[WARM_UP:] for name, each in seconds.items()}


MEASUREMENTS = {"batch": batch_reads, "micro-batch": micro_batches, "catching up": backlogs}


def measure(spark: SparkSession, servers: str, options: argparse.Namespace) -> list[Result]:
    """A row for each measurement, number of partitions, and contender."""
    results: list[Result] = []
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("", total=None)
        for name in options.workload:
            for partitions in options.partitions:

                def step(what: str, prefix: str = f"{partitions} partitions, ") -> None:
                    progress.update(bar, description=prefix + what)

                seconds = MEASUREMENTS[name](spark, servers, partitions, options, step)
                results += summary(name, partitions, seconds)
    return results


def summary(name: str, partitions: int, seconds: dict[str, list[float]]) -> list[Result]:
    return [
        {
            "workload": name,
            "partitions": partitions,
            "contender": contender,
            "seconds": round(statistics.median(spent), 3),
            **ratios(seconds, contender, {"to_tuned": "kafka, tuned"}),
        }
        for contender, spent in seconds.items()
    ]


def show(results: list[Result]) -> None:
    table = Table("", "partitions", "reader", "median, s", "x tuned", "quartiles")
    for row in results:
        table.add_row(
            row["workload"],
            f"{row['partitions']:,}",
            row["contender"],
            f"{row['seconds']:.3f}",
            f"{row['to_tuned']:.2f}",
            "{:.2f}..{:.2f}".format(*row["to_tuned_quartiles"]),
            end_section=row["contender"] == [*CONNECTORS][-1],
        )
    console.print(table)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partitions", type=int, nargs="+", default=[4, 100, 1_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=4, help="micro-batches of a round")
    parser.add_argument("--workload", nargs="+", choices=MEASUREMENTS, default=[*MEASUREMENTS])
    add_conf_argument(parser)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write into")
    return parser.parse_args()


def main() -> None:
    options = parse()
    jars = connector_jars("bench-wide")
    conf = MEMORY | conf_of(options)
    with broker() as cluster, session(jars, Ceiling, conf) as spark:
        results = measure(spark, cluster.bootstrap_servers, options)
    show(results)
    options.results.mkdir(exist_ok=True, parents=True)
    settings = {
        "contenders": CONNECTORS,
        "rounds": options.rounds,
        "batches": options.batches,
        "conf": [f"{name}={value}" for name, value in conf.items()],
    }
    save(options.results / "wide.json", settings | {"results": results})


if __name__ == "__main__":
    main()
