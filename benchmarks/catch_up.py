"""Catching up: `availableNow` over a backlog in ten micro-batches, into the `noop` sink."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from tempfile import NamedTemporaryFile
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from benchmarks.connectors import CONNECTORS
from benchmarks.feeds import LONG_SECONDS, started, stream_of
from benchmarks.topics import PARTITIONS, Topic

BATCHES = 10


class CatchUp(NamedTuple):
    """One query: its seconds from start to end, the seconds and the number of its batches."""

    seconds: float
    batch_seconds: float
    batches: int


def backlog_of(spark: SparkSession, contender: str, topic: Topic) -> DataStreamWriter:
    limit = topic.rows // BATCHES
    rows = stream_of(spark, contender, topic.servers, topic.name, maxOffsetsPerTrigger=limit)
    return rows.writeStream.trigger(availableNow=True)


@contextmanager
def writer_of(
    spark: SparkSession, contender: str, topic: Topic, value_bytes: int
) -> Iterator[DataStreamWriter]:
    """The query of a connector, or of the ceiling."""
    if contender in CONNECTORS:
        yield backlog_of(spark, contender, topic)
    else:
        with ceiling_of(spark, topic, value_bytes) as writer:
            yield writer


@contextmanager
def ceiling_of(spark: SparkSession, topic: Topic, value_bytes: int) -> Iterator[DataStreamWriter]:
    """As many rows in as many micro-batches and tasks, without a topic."""
    partitions = BATCHES * PARTITIONS
    with NamedTemporaryFile("w") as file:
        print(partitions, file=file, flush=True)
        reader = spark.readStream.format("ceiling").option("path", file.name)
        reader = reader.option("rows", topic.rows // partitions).option("valueBytes", value_bytes)
        rows = reader.option("partitionsPerTrigger", PARTITIONS).load()
        yield rows.writeStream.trigger(availableNow=True)


def finish(query: StreamingQuery) -> None:
    if not query.awaitTermination(LONG_SECONDS):
        raise RuntimeError(f"not done within {LONG_SECONDS} s")


def check_rows(spark: SparkSession, topic: Topic) -> None:
    """A contender that drops rows would be the fastest."""
    for contender in CONNECTORS:
        counts: list[int] = []
        count = partial(append_count, counts)
        with started(backlog_of(spark, contender, topic).foreachBatch(count)) as query:
            finish(query)
        if sum(counts) != topic.rows:
            raise RuntimeError(f"{contender} reads {sum(counts)} rows of {topic.rows}")


def append_count(counts: list[int], batch: DataFrame, _: int) -> None:
    counts.append(batch.count())


def catch_up(writer: DataStreamWriter, rows: int) -> CatchUp:
    """Run a query to its end and check that it read that many rows."""
    begun = time.perf_counter()
    with started(writer.format("noop")) as query:
        finish(query)
        seconds = time.perf_counter() - begun
        batches = [each for each in query.recentProgress if each.numInputRows]
    read = sum(each.numInputRows for each in batches)
    if read != rows or len(batches) not in (BATCHES, BATCHES + 1):
        raise RuntimeError(f"{read} rows of {rows} in {len(batches)} micro-batches")
    spent = sum(each.durationMs["triggerExecution"] for each in batches) / 1000
    return CatchUp(seconds, spent, len(batches))
