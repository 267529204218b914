"""A job as users write it: copies a topic to another one, on any kind of Spark master.

    python -m tests.jobs.copy_topic master 'local-cluster[2,1,1024]' localhost:9092 from to
    python -m tests.jobs.copy_topic remote 'local[2]' localhost:9092 from to

Prints the rows that it read, each with the id of the process that started its Python worker:
there is one such process in each executor.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

COLUMNS = ["partition", "offset", "key", "value"]
# Wait for both executors before the first task. Only Spark's own cluster knows this.
BOTH_EXECUTORS = {"spark.cores.max": "2", "spark.scheduler.minRegisteredResourcesRatio": "1"}


def with_executor(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        executor = pa.array([os.getppid()] * batch.num_rows, pa.int64())
        yield pa.RecordBatch.from_arrays([*batch.columns, executor], [*COLUMNS, "executor"])


def main(kind: str, url: str, servers: str, source: str, target: str) -> None:
    builder = getattr(SparkSession.builder, kind)(url)
    if kind == "master":
        builder = builder.config(map=BOTH_EXECUTORS)
    spark = builder.getOrCreate()
    kafka = {"kafka.bootstrap.servers": servers}
    # So few rows would be one task, and so have one executor.
    options = kafka | {"subscribe": source, "coalescePartitions": "false"}
    df = spark.read.format("pykafka").options(**options).load()
    df.write.format("pykafka").options(**kafka, topic=target).mode("append").save()
    schema = "partition int, offset long, key string, value string, executor long"
    text = df.selectExpr("partition", "offset", "string(key) key", "string(value) value")
    rows = text.mapInArrow(with_executor, schema).collect()
    spark.stop()
    print(json.dumps(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
