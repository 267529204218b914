"""Latency: micro-batches of a few rows, each written when the one before is done."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.feeds import BATCH_ROWS, Feed, feed_of, started, write_and_wait
from benchmarks.rounds import Result
from benchmarks.topics import PARTITIONS

WARM_UP_BATCHES = 10


class Latency(NamedTuple):
    """Times of a micro-batch in ms: from acknowledgement to completion, and its trigger alone."""

    waited: float
    trigger: float


def latencies(spark: SparkSession, contender: str, servers: str, count: int) -> list[Latency]:
    """The times of that many micro-batches of a new query, after those that warm it up."""
    with (
        feed_of(spark, contender, servers, PARTITIONS) as feed,
        started(feed.stream.writeStream.format("noop")) as query,
    ):
        seen = [_latency(query, feed, number) for number in range(WARM_UP_BATCHES + count)]
    return seen[WARM_UP_BATCHES:]


def _latency(query: StreamingQuery, feed: Feed, number: int) -> Latency:
    seconds, progress = write_and_wait(query, feed, (number + 1) * BATCH_ROWS)
    return Latency(seconds * 1000, progress.durationMs["triggerExecution"])


def percentiles(prefix: str, values: list[float]) -> Result:
    """The median and the worst times, in ms, by the name of each."""
    return {
        f"{prefix}p{percent}_ms": round(float(np.percentile(values, percent)))
        for percent in (50, 95, 99)
    }
