"""Two minutes of a stream, live: a real broker, orders at a changing rate, and the lag.

`make demo-stream` runs it. Orders arrive in waves in six partitions of unequal load. A streaming
query reads a limited number in each batch, so it falls behind on every crest and catches up after
it. At the end it must have read all orders. The demo stops everything that it started. With
`--servers` it makes a topic on your brokers.
"""

from __future__ import annotations

import argparse
import logging
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import NamedTuple

from local_kafka import arguments, start_servers, stop_servers

import numpy as np
import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.bar import Bar
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import NewTopic, create_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.lag import LagListener, PartitionLag

QUERY = "live"
FIRST_ORDERS = 100  # for the first batch
LOADS = (8, 6, 4, 3, 2, 1)  # share of each partition
MEAN_RATE = 3_000  # records a second
WAVE_SECONDS = 30
RECORDS_PER_BATCH = 4_000  # one batch a second
PATIENCE_SECONDS = 120
WRITE_SECONDS = 0.1
REFRESH_SECONDS = 0.25
LINE_SECONDS = 2
RATE_SECONDS = 5  # the period of displayed rates
CURVE_WIDTH = 60
BLOCKS = "▁▂▃▄▅▆▇█"

console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
interrupted = threading.Event()


class Moment(NamedTuple):
    """One observation: seconds since the start, records written, read and waiting."""

    seconds: float
    written: int
    read: int
    lag: int


class Demo:
    """The data that the screen shows."""

    def __init__(self, query: StreamingQuery, listener: LagListener) -> None:
        self._query = query
        self._listener = listener
        self._started = time.monotonic()
        self.written = FIRST_ORDERS
        self.moments = [Moment(0, FIRST_ORDERS, FIRST_ORDERS, 0)]

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @property
    def lags(self) -> Sequence[PartitionLag]:
        """The lag of each partition; empty before the first batch."""
        return self._listener.lags.get(QUERY, ())

    @property
    def batch(self) -> str:
        """A description of the newest batch."""
        progress = self._query.lastProgress
        if progress is None:
            return "no batch yet"
        return f"batch {progress.batchId} took {progress.batchDuration / 1_000:.1f} s"

    def observe(self) -> None:
        """Add an observation; raises the error of a query that failed."""
        if not self._query.isActive:
            self._query.awaitTermination()
        lags = self.lags
        read = sum(lag.consumed_offset for lag in lags)
        behind = sum(lag.records for lag in lags)
        self.moments.append(Moment(self.seconds, self.written, read, behind))

    def rates(self) -> tuple[float, float]:
        """Records written and read per second, over the last RATE_SECONDS."""
        last = self.moments[-1]
        since = last.seconds - RATE_SECONDS
        first = next(each for each in self.moments if each.seconds >= since or each is last)
        seconds = (last.seconds - first.seconds) or math.inf
        return (last.written - first.written) / seconds, (last.read - first.read) / seconds


def due(seconds: float) -> int:
    """The number of records to write by a time: in waves, from zero to twice the mean rate."""
    turn = 2 * math.pi / WAVE_SECONDS
    return int(MEAN_RATE * (seconds - math.sin(turn * seconds) / turn))


def orders(first: int, count: int) -> RecordColumns:
    numbers = range(first, first + count)
    return RecordColumns(
        pa.array([b"customer-%d" % (number % 500) for number in numbers], pa.binary()),
        pa.array([b'{"order_id": %d, "quantity": 2}' % number for number in numbers], pa.binary()),
        np.full(count, int(time.time() * 1_000), dtype=np.int64),
        None,
    )


def write_orders(producer: Producer, topic: str, first: int, count: int) -> None:
    """Write orders to all partitions by their loads; returns when they are acknowledged."""
    bounds = np.rint(np.cumsum((0, *LOADS)) / sum(LOADS) * count).astype(int).tolist()
    for number, (start, end) in enumerate(pairwise(bounds)):
        if start < end:
            columns = orders(first + start, end - start)
            for batch in encode_batches(columns, CompressionCodec.LZ4):
                producer.add(TopicPartition(topic, number), batch.data)
    producer.flush()


def keep_writing(producer: Producer, topic: str, demo: Demo, finished: threading.Event) -> None:
    """Write the orders that are due, ten times a second, until `finished` is set."""
    while not finished.wait(WRITE_SECONDS):
        count = FIRST_ORDERS + due(demo.seconds) - demo.written
        write_orders(producer, topic, demo.written, count)
        demo.written += count


def pause() -> None:
    """Wait until the next refresh.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    if interrupted.wait(REFRESH_SECONDS):
        raise KeyboardInterrupt


def curve(moments: Sequence[Moment]) -> str:
    """Draw the lag of all partitions since the start as a line of blocks."""
    step = -(-len(moments) // CURVE_WIDTH)
    lags = [max(each.lag for each in moments[i : i + step]) for i in range(0, len(moments), step)]
    highest = max(*lags, 1)
    return "".join(BLOCKS[lag * (len(BLOCKS) - 1) // highest] for lag in lags)


def screen(demo: Demo, seconds: int) -> Group:
    now = demo.moments[-1]
    written, read = demo.rates()
    summary = Table.grid(padding=(0, 2))
    summary.add_row("time", f"{now.seconds:.0f} s", f"orders until {seconds} s; {demo.batch}")
    summary.add_row("written", f"{now.written:,}", f"{written:,.0f} rows/s")
    summary.add_row("read", f"{now.read:,}", f"{read:,.0f} rows/s")
    summary.add_row("lag", f"{now.lag:,}", curve(demo.moments))
    partitions = Table(width=90)
    for name in ("partition", "consumed", "latest", "lag"):
        partitions.add_column(name, justify="right", width=9)
    partitions.add_column()
    lags = demo.lags
    most = max((lag.records for lag in lags), default=0)
    for lag in lags:
        partitions.add_row(
            str(lag.partition),
            f"{lag.consumed_offset:,}",
            f"{lag.latest_offset:,}",
            f"{lag.records:,}",
            Bar(max(most, 1_000), 0, lag.records, color="green"),
        )
    return Group(summary, partitions)


def line(demo: Demo) -> str:
    now = demo.moments[-1]
    written, read = demo.rates()
    return (
        f"{now.seconds:4.0f} s: written {now.written:,} ({written:,.0f}/s), "
        f"read {now.read:,} ({read:,.0f}/s), lag {now.lag:,}, {demo.batch}"
    )


@contextmanager
def display(demo: Demo, seconds: int) -> Iterator[Callable[[], None]]:
    """Show the screen on a terminal, otherwise a line now and then; yields the refresh function."""
    if console.is_terminal:
        with Live(screen(demo, seconds), console=console, auto_refresh=False) as live:
            yield lambda: live.update(screen(demo, seconds), refresh=True)
        return
    next_line = 0.0

    def print_line() -> None:
        nonlocal next_line
        if demo.seconds >= next_line:
            next_line = demo.seconds + LINE_SECONDS
            console.print(line(demo))

    yield print_line
    console.print(line(demo))


def watch(demo: Demo, seconds: int, writer: Future[None], finished: threading.Event) -> None:
    """Show the stream for some seconds, stop writing, and show the reading of the rest."""
    with display(demo, seconds) as show:
        while demo.seconds < seconds or demo.moments[-1].read < demo.written:
            if demo.seconds > seconds + PATIENCE_SECONDS:
                sys.exit(f"The query did not catch up within {PATIENCE_SECONDS} s: {line(demo)}")
            if demo.seconds >= seconds or writer.done():
                finished.set()
                writer.result()
            demo.observe()
            show()
            pause()


def start_spark() -> SparkSession:
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("pykafka live progress")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.streaming.numRecentProgressUpdates", "10000")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def start_query(spark: SparkSession, servers: str, topic: str) -> StreamingQuery:
    records = (
        spark.readStream.format("pykafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", RECORDS_PER_BATCH)
        .load()
    )
    writer = records.writeStream.format("noop").queryName(QUERY)
    return writer.trigger(processingTime="1 second").start()


def await_first_batch(query: StreamingQuery, listener: LagListener) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while QUERY not in listener.lags:
        if not query.isActive:
            query.awaitTermination()
        if time.monotonic() > end:
            sys.exit(f"The query's first batch took longer than {PATIENCE_SECONDS} s")
        pause()


def run(options: argparse.Namespace, stack: ExitStack) -> None:
    """Run the demo; the stack stops everything that it starts."""
    stack.callback(stop_servers)
    start_servers(options)
    cluster = Cluster(ClientConfig.from_options({"bootstrap.servers": options.servers}))
    stack.callback(cluster.close)
    create_topic(cluster, NewTopic(options.topic, partitions=len(LOADS)), Deadline.after(30_000))
    producer = Producer(cluster)
    write_orders(producer, options.topic, 0, FIRST_ORDERS)

    console.print("Starting Spark ...")
    spark = start_spark()
    stack.callback(spark.stop)
    # The default handler raises, and inside a call to Spark that breaks the connection to it.
    signal.signal(signal.SIGINT, lambda *_: interrupted.set())
    listener = LagListener()
    spark.streams.addListener(listener)
    query = start_query(spark, options.servers, options.topic)
    stack.callback(query.stop)
    await_first_batch(query, listener)

    demo = Demo(query, listener)
    finished = threading.Event()
    executor = stack.enter_context(ThreadPoolExecutor(1))
    stack.callback(finished.set)
    writer = executor.submit(keep_writing, producer, options.topic, demo, finished)
    watch(demo, options.seconds, writer, finished)
    rows = sum(progress.numInputRows for progress in query.recentProgress)
    if rows != demo.written:
        sys.exit(f"{demo.written:,} records were written, but {rows:,} were read")
    console.print(f"[bold green]All {rows:,} records were read[/], each once.")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--topic", default="orders", help="the name of a new topic")
    parser.add_argument("--seconds", type=int, default=100, help="how long orders arrive")
    options = parser.parse_args()
    if pyspark.__version__ < "4.2":
        sys.exit("This needs PySpark 4.2 or newer, which reports a Python source's latest offsets")
    # Shows pykafka's warnings, not Spark's.
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        with ExitStack() as stack:
            run(options, stack)
    except KeyboardInterrupt:
        console.print("Interrupted.")
        sys.exit(130)
    finally:
        console.print("Everything is stopped again.")


if __name__ == "__main__":
    main()
