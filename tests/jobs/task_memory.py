"""The memory of Spark's Python worker when it reads topics, one after the other.

    python -m tests.jobs.task_memory localhost:9092 topic another

Prints for each topic the number of rows, and how far the peak of resident bytes is above the peak
after a trivial source, which also loads Arrow. Needs Linux.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kafka_protocol.columnar.arrays.arrow_memory import array_of_bytes
from tests.own_process import command_of, descendants_of, status_of


class TrivialSource(DataSource, DataSourceReader):
    """One constant row."""

    @classmethod
    def name(cls) -> str:
        return "trivial"

    def schema(self) -> str:
        return "value binary"

    def reader(self, schema: object) -> DataSourceReader:
        return self

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # By lists pyarrow would import pandas, which takes 50 MB.
        yield pa.RecordBatch.from_arrays([array_of_bytes([b""])], ["value"])


def main(servers: str, *topics: str) -> None:
    # One task at a time, so one worker as long as the session lives.
    spark = SparkSession.builder.master("local[1]").getOrCreate()
    spark.dataSource.register(TrivialSource)
    read_all(spark.read.format("trivial").load())
    idle = largest_peak_bytes()
    reader = spark.read.format("pykafka").option("kafka.bootstrap.servers", servers)
    found = []
    for topic in topics:
        rows = read_all(reader.option("subscribe", topic).load())
        found.append((rows, largest_peak_bytes() - idle))
    spark.stop()
    print(json.dumps(found))


def read_all(df: DataFrame) -> int:
    """Passes every column to the JVM, and counts the rows there."""
    seen = Observation()
    df.observe(seen, F.count("value").alias("rows")).write.format("noop").mode("overwrite").save()
    return int(seen.get["rows"])


def largest_peak_bytes() -> int:
    """The largest peak of resident bytes among the Python workers of this process."""
    workers = (pid for pid in descendants_of(os.getpid()) if "pyspark.daemon" in command_of(pid))
    return max(status_of(pid).get("VmHWM", 0) * 1024 for pid in workers)


if __name__ == "__main__":
    main(*sys.argv[1:])
