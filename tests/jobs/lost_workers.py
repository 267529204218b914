"""Batch and streaming reads whose tasks lose a Python worker in their first attempts.

    python -m tests.jobs.lost_workers localhost:9092 topic folder

`local[2,3]` is two cores and three attempts. Prints the rows of each read: offset, MD5 of the value
and attempt number. Needs Linux.
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
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F


def kill_itself() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def kill_reader() -> int:
    """Kill the process that reads the source, and return the number of killed processes.

    Spark forks workers from several daemons.
    """
    jvm = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1]
    daemons = [pid for pid in children(int(jvm)) if b"pyspark.worker" in command(pid)]
    readers = {pid for daemon in daemons for pid in children(daemon)} - {os.getpid()}
    for reader in readers:
        os.kill(reader, signal.SIGKILL)
    return len(readers)


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")  # whichever thread made them
    return [int(child) for task in tasks for child in task.read_text().split()]


def command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def once(kill: Callable[[], int], marker: str) -> Callable[..., Iterator[pa.RecordBatch]]:
    """Passes batches on, and kills after the first one unless the marker file exists."""

    def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        for batch in batches:
            attempts = pa.array([context.attemptNumber()] * batch.num_rows, pa.int32())
            columns = [batch["offset"], batch["value"], attempts]
            yield pa.RecordBatch.from_arrays(columns, names=["offset", "value", "attempt"])
            if not Path(marker).exists():
                Path(marker).touch()
                Path(marker).write_text(f"{kill()} killed")

    return pass_on


def stored(rows: DataFrame) -> list[Row]:
    """The rows of a stream, in one micro-batch."""
    writer = rows.writeStream.format("memory").queryName("stored").trigger(once=True)
    query = writer.start()
    query.awaitTermination()
    return rows.sparkSession.table("stored").collect()


def main(servers: str, topic: str, folder: str) -> None:
    builder = SparkSession.builder.master("local[2,3]")
    # So the first batch is passed on before the read is done.
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
    spark = builder.getOrCreate()
    options = {"kafka.bootstrap.servers": servers, "subscribe": topic}
    batch = spark.read.format("pykafka").options(**options).load()
    options["startingOffsets"] = "earliest"
    stream = spark.readStream.format("pykafka").options(**options).load()
    schema = "offset long, value binary, attempt int"
    found = {}
    for name, df, kill, collect in (
        ("reader", batch, kill_reader, DataFrame.collect),
        ("udf", batch, kill_itself, DataFrame.collect),
        ("reader of a stream", stream, kill_reader, stored),
        ("udf of a stream", stream, kill_itself, stored),
    ):
        rows = df.mapInArrow(once(kill, f"{folder}/{name}"), schema)
        rows = rows.select("offset", F.md5("value").alias("value"), "attempt")
        found[name] = [tuple(row) for row in collect(rows)]
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
