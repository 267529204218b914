"""The CPU of a query without new rows, as Linux counts it.

The reader of a Python source has its own process; the one of Spark's connector is in the JVM.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

from benchmarks.feeds import BATCH_ROWS, feed_of, finished_at, started, wait_for_rows
from benchmarks.processes import cpu_seconds, descendants, jvm_of

WARM_UP_SECONDS = 3
# Spark's module for streaming readers; each query has a process of its own.
READER = b"python_streaming_source_runner"


def readers_of(jvm: int) -> set[int]:
    """The processes of streaming readers on the driver."""
    return {pid for pid in descendants(jvm) if READER in command_of(pid)}


def command_of(pid: int) -> bytes:
    """The command line of a process; nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def idle(
    spark: SparkSession, contender: str, servers: str, partitions: int, seconds: float
) -> dict[str, float]:
    """The CPU of the reader's process and of the JVM, in per cent of a core."""
    jvm = jvm_of(spark)
    before = readers_of(jvm)
    with (
        feed_of(spark, contender, servers, partitions) as feed,
        started(feed.stream.writeStream.format("noop")) as query,
    ):
        feed.write()
        first = wait_for_rows(query, feed, BATCH_ROWS)
        readers = [*readers_of(jvm) - before]
        if len(readers) != (contender != "kafka"):
            raise RuntimeError(f"{contender} has {len(readers)} processes of readers")
        time.sleep(WARM_UP_SECONDS)
        percent = used_meanwhile(seconds, {"reader": readers, "jvm": [jvm]})
        feed.write()
        last = wait_for_rows(query, feed, 2 * BATCH_ROWS)
    # A write is one batch, or more if Spark requests the offset in the middle of it.
    if last.batchId > first.batchId + BATCH_ROWS:
        raise RuntimeError(f"{contender} ran batches with nothing in them")
    return percent | asked_between(first, last)


def used_meanwhile(seconds: float, pids: dict[str, list[int]]) -> dict[str, float]:
    before = {name: cpu_seconds(each) for name, each in pids.items()}
    begun = time.perf_counter()
    time.sleep(seconds)
    spent = time.perf_counter() - begun
    return {
        f"{name}_percent": 100 * (cpu_seconds(each) - before[name]) / spent
        for name, each in pids.items()
    }


def asked_between(first: StreamingQueryProgress, last: StreamingQueryProgress) -> dict[str, float]:
    """The calls of `latestOffset` per second; only the ceiling counts them."""
    asked = [json.loads(each.sources[0].endOffset).get("asked") for each in (first, last)]
    if None in asked:
        return {}
    return {"asked_per_second": (asked[1] - asked[0]) / (finished_at(last) - finished_at(first))}
