"""Two reads whose tasks lose a Python worker in their first attempts.

    python -m tests.jobs.lost_workers localhost:9092 topic folder

`local[2,3]` is two cores and three attempts. Prints the rows of each read: offset, MD5 of the value
and the number of the attempt that they are from. Needs Linux.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_reader() -> None:
    """The process that reads the source: the other child of the daemon that forks workers."""
    daemon = os.getppid()
    children = Path(f"/proc/{daemon}/task/{daemon}/children").read_text().split()
    (reader,) = {int(pid) for pid in children} - {os.getpid()}
    os.kill(reader, signal.SIGKILL)


def once(kill: Callable[[], None], marker: str) -> Callable[..., Iterator[pa.RecordBatch]]:
    """Passes batches on, and kills behind the first of them unless the marker says it was done."""

    def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        for batch in batches:
            attempts = pa.array([context.attemptNumber()] * batch.num_rows, pa.int32())
            columns = [batch["offset"], batch["value"], attempts]
            yield pa.RecordBatch.from_arrays(columns, names=["offset", "value", "attempt"])
            if not Path(marker).exists():
                Path(marker).touch()
                kill()

    return pass_on


def main(servers: str, topic: str, folder: str) -> None:
    spark = SparkSession.builder.master("local[2,3]").getOrCreate()
    options = {"kafka.bootstrap.servers": servers, "subscribe": topic}
    df = spark.read.format("pykafka").options(**options).load()
    schema = "offset long, value binary, attempt int"
    found = {}
    # The reader first: later on the daemon has idle children, too.
    for name, kill in (("reader", kill_reader), ("udf", kill_itself)):
        rows = df.mapInArrow(once(kill, f"{folder}/{name}"), schema)
        rows = rows.select("offset", F.md5("value").alias("value"), "attempt")
        found[name] = [tuple(row) for row in rows.collect()]
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
