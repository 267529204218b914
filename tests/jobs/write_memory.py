"""The memory of Spark's Python worker when it writes the rows of one task.

    python -m tests.jobs.write_memory localhost:9092 topic 400000 1000

Writes 400,000 rows with values of 1,000 bytes, and prints how far the peak of resident bytes is
above the peak after a trivial sink: Spark itself loads Arrow and pandas for one. Needs Linux.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceWriter, WriterCommitMessage

from tests.jobs.task_memory import largest_peak_bytes


class TrivialSink(DataSource, DataSourceWriter):
    """Drops rows."""

    @classmethod
    def name(cls) -> str:
        return "trivial"

    def writer(self, schema: object, overwrite: bool) -> DataSourceWriter:
        return self

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()


def main(servers: str, topic: str, count: str, value_bytes: str) -> None:
    # One task at a time, so one worker as long as the session lives.
    spark = SparkSession.builder.master("local[1]").getOrCreate()
    spark.dataSource.register(TrivialSink)
    spark.range(1).write.format("trivial").mode("append").save()
    idle = largest_peak_bytes()
    df = rows(spark, int(count), int(value_bytes))
    sink = df.write.format("pykafka").option("kafka.bootstrap.servers", servers)
    sink.option("topic", topic).mode("append").save()
    grown_bytes = largest_peak_bytes() - idle
    spark.stop()
    print(json.dumps(grown_bytes))


def rows(spark: SparkSession, count: int, value_bytes: int) -> DataFrame:
    """Keyed rows of one task."""
    value = f"rpad(string(id), {value_bytes}, 'value ')"
    return spark.range(count, numPartitions=1).selectExpr("string(id) as key", f"{value} as value")


if __name__ == "__main__":
    main(*sys.argv[1:])
