"""Streams to measure: of a backlog, and with a few rows on demand."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from benchmarks.connectors import CONNECTORS
from benchmarks.topics import new_topic, rows_of
from kafka_protocol.columnar.writing.encode import encode_batches
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing.processes.waiting import Deadline

CONTENDERS = (*CONNECTORS, "ceiling")
BATCH_ROWS = 3
VALUE_BYTES = 100
LONG_SECONDS = 600


class Feed(NamedTuple):
    """A stream that gets rows on demand.

    Attributes:
        stream: The DataFrame of its rows.
        offsets: The key of its offsets in a query's progress.
        write: Adds `BATCH_ROWS` rows, one to each partition; returns when they are acknowledged.
    """

    stream: DataFrame
    offsets: str
    write: Callable[[], None]


def stream_of(
    spark: SparkSession, contender: str, servers: str, topic: str, **more: object
) -> DataFrame:
    name, options = CONNECTORS[contender]
    reader = spark.readStream.format(name).options(**options)
    reader = reader.option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    reader = reader.option("startingOffsets", "earliest")
    return reader.options(**{option: str(value) for option, value in more.items()}).load()


@contextmanager
def topic_feed(
    spark: SparkSession, contender: str, servers: str, partitions: int
) -> Iterator[Feed]:
    """A feed from a new topic."""
    (batch,) = encode_batches(rows_of(1, VALUE_BYTES), CompressionCodec.NONE)
    name = f"feed-{time.monotonic_ns()}"
    with new_topic(servers, name, partitions) as producer:

        def write() -> None:
            for number in range(BATCH_ROWS):
                producer.add(TopicPartition(name, number), batch.data)
            producer.flush()

        yield Feed(stream_of(spark, contender, servers, name), name, write)


@contextmanager
def file_feed(spark: SparkSession) -> Iterator[Feed]:
    """A feed for the ceiling, from a file."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "rows")
        file.write_text("0")

        def write() -> None:
            # Replaced at once, so the reader never sees half of it.
            new = file.with_suffix(".new")
            new.write_text(str(int(file.read_text()) + BATCH_ROWS))
            new.replace(file)

        yield Feed(
            spark.readStream.format("ceiling").option("path", str(file)).load(), "rows", write
        )


def feed_of(
    spark: SparkSession, contender: str, servers: str, partitions: int
) -> AbstractContextManager[Feed]:
    if contender == "ceiling":
        return file_feed(spark)
    return topic_feed(spark, contender, servers, partitions)


@contextmanager
def started(writer: DataStreamWriter) -> Iterator[StreamingQuery]:
    """Start the query on a new checkpoint, and stop it afterwards."""
    with TemporaryDirectory() as checkpoint:
        query = writer.option("checkpointLocation", checkpoint).start()
        try:
            yield query
        finally:
            # Before its checkpoint is deleted.
            query.stop()


def wait_for_rows(query: StreamingQuery, feed: Feed, rows: int) -> StreamingQueryProgress:
    """Wait until the query has read that many rows; returns the progress of that batch."""
    reached: list[StreamingQueryProgress] = []

    def has_rows() -> bool:
        if error := query.exception():
            raise error
        last = query.lastProgress
        if last is not None and rows_before(last.sources[0].endOffset, feed) >= rows:
            reached.append(last)
        return bool(reached)

    if not Deadline(LONG_SECONDS).wait_for(has_rows):
        raise RuntimeError(f"{feed.offsets}: no {rows} rows within {LONG_SECONDS} s")
    return reached[0]


def write_and_wait(
    query: StreamingQuery, feed: Feed, rows: int
) -> tuple[float, StreamingQueryProgress]:
    """Write new rows, and wait until the query has read that many in all.

    Returns:
        The seconds from the acknowledgement to the end of the batch, and its progress.
    """
    feed.write()
    written = time.time()
    progress = wait_for_rows(query, feed, rows)
    return finished_at(progress) - written, progress


def rows_before(offset: str, feed: Feed) -> int:
    return sum((json.loads(offset) or {}).get(feed.offsets, {}).values())


def finished_at(progress: StreamingQueryProgress) -> float:
    """The end of its batch, including the commit log, on the clock of `time.time`."""
    begun = datetime.fromisoformat(progress.timestamp.replace("Z", "+00:00")).timestamp()
    return begun + progress.durationMs["triggerExecution"] / 1000
