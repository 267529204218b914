"""The CPU of a query without new rows, as Linux counts it.

The reader of a Python source has its own process; the one of Spark's connector is in the JVM.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

from benchmarks.feeds import BATCH_ROWS, feed_of, finished_at, started, wait_for_rows

PARTITIONS = 100
WARM_UP_SECONDS = 3
# Spark's module for streaming readers; each query has a process of its own.
READER = b"python_streaming_source_runner"


def children() -> dict[int, list[int]]:
    """The processes of this machine, by the id of their parent."""
    found: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(stat_of(int(folder.name))[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        found.setdefault(parent, []).append(int(folder.name))
    return found


def stat_of(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on; the second, a name, may contain blanks."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def cpu_seconds(pids: list[int]) -> float:
    ticks = sum(int(ticks) for pid in pids for ticks in stat_of(pid)[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


def readers_of(jvm: int) -> set[int]:
    """The processes of streaming readers on the driver."""
    tree, below, found = children(), [jvm], set()
    while below:
        pid = below.pop()
        below += tree.get(pid, [])
        if READER in Path(f"/proc/{pid}/cmdline").read_bytes():
            found.add(pid)
    return found


def idle(spark: SparkSession, contender: str, servers: str, seconds: float) -> dict[str, float]:
    """The CPU of the reader's process and of the JVM, in per cent of a core."""
    jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    before = readers_of(jvm)
    with (
        feed_of(spark, contender, servers, PARTITIONS) as feed,
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
