"""Exactly-once writes whose second attempts are slow: they have written, and do not end.

    python -m tests.jobs.second_attempts pykafka folder '{"servers": "...", "topic": "...", ...}'

`failing_first` is a stream: the first attempts of its second task fail, and the second ones stop
after their first rows, unless there is a file `go` in the folder. `speculating` is a batch on a
standalone cluster: the first attempt of the second task waits for that file, so Spark starts a copy
of it on another host, which stops after its first rows.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.jobs.stream_to_files import STARTED
from tests.spark_session import run_session

GO = "go"
TASKS = 2
# A task has more than the sink keeps before it writes.
ROWS = 2_000
VALUE_BYTES = 20_000

Step: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def failing_first(go: Path) -> Step:
    """First attempts fail, and second ones stop."""

    def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None
        yield from batches
        if task.partitionId() == 1 and not go.exists():
            if task.attemptNumber() == 0:
                raise RuntimeError("the first attempt fails")
            time.sleep(600)

    return step


def speculating(go: Path) -> Step:
    """First attempts wait for the file, and copies stop."""

    def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None
        yield from batches
        if task.partitionId() == 1:
            deadline = time.monotonic() + 240
            while task.attemptNumber() > 0 or not go.exists():
                assert time.monotonic() < deadline, "too long"
                time.sleep(0.05)

    return step


def main(_connector: str, folder: str, options: str) -> None:
    given = json.loads(options)
    job, servers, topic = (given.pop(name) for name in ("job", "servers", "topic"))
    sink = {
        "kafka.bootstrap.servers": servers,
        "topic": topic,
        "deliveryGuarantee": "exactly_once",
        "transactionalIdPrefix": topic,
    }
    config = {"spark_sql_execution_arrow_maxRecordsPerBatch": "100", **given}
    for spark in run_session("second attempts", **config):
        if job == failing_first.__name__:
            stream(spark, sink, Path(folder))
        else:
            batch(spark, sink, Path(folder))


def rows(numbers: DataFrame, column: str, step: Step) -> DataFrame:
    value = F.format_string("%d %s", F.col(column), F.lit("x" * VALUE_BYTES)).alias("value")
    return numbers.select(value).mapInArrow(step, "value string")


def stream(spark: SparkSession, sink: dict[str, str], folder: Path) -> None:
    source = spark.readStream.format("rate-micro-batch")
    numbers = source.options(rowsPerBatch=str(ROWS), numPartitions=str(TASKS)).load()
    writer = rows(numbers, "value", failing_first(folder / GO)).writeStream.format("pykafka")
    writer = writer.options(**sink).option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(processingTime="365 days").start()
    print(STARTED, flush=True)
    query.awaitTermination()


def batch(spark: SparkSession, sink: dict[str, str], folder: Path) -> None:
    print(STARTED, flush=True)
    numbers = spark.range(0, ROWS, 1, TASKS)
    copied = rows(numbers, "id", speculating(folder / GO))
    copied.write.format("pykafka").options(**sink).mode("append").save()
    print("written", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
