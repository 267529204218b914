"""A job for spark-submit: copies a topic twice, and says where its tasks ran.

    spark-submit submitted.py localhost:9092 source target [register] [option=value ...]

In between it waits until idle executors are gone, if Spark may end them. Prints the number of
rows that each task read, with its Python and where that found the connector. With `register` the
source is registered by hand. The options are those of the write.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

_SOON_SECONDS = 120
TASKS = 60


def place(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import kafka_spark_source  # noqa: PLC0415 - in the executor

    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict(
        {
            "program": [sys.executable],
            "connector": [str(kafka_spark_source.__path__[0])],
            "rows": [rows],
        }
    )


def main(servers: str, source: str, target: str, register: str = "", *options: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    if register:
        from kafka_spark_source.source import KafkaDataSource  # noqa: PLC0415 - as users do

        spark.dataSource.register(KafkaDataSource)
    kafka = {"kafka.bootstrap.servers": servers}
    df = spark.read.format("pykafka").options(**kafka, subscribe=source, minPartitions=TASKS).load()
    places = [places_of(df)]
    wait_for_no_executors(spark)
    to = {**kafka, "topic": target, **dict(each.split("=", 1) for each in options)}
    df.write.format("pykafka").options(**to).mode("append").save()
    places.append(places_of(df))
    tasks = df.rdd.getNumPartitions()
    spark.stop()
    print(json.dumps({"places": places, "tasks": tasks}))


def places_of(df: DataFrame) -> list[dict[str, str | int]]:
    schema = "program string, connector string, rows long"
    return [row.asDict() for row in df.mapInArrow(place, schema).collect()]


def wait_for_no_executors(spark: SparkSession) -> None:
    context = spark.sparkContext
    if context.getConf().get("spark.dynamicAllocation.enabled", "false") != "true":
        return
    deadline = time.monotonic() + _SOON_SECONDS
    # The driver is one of them.
    while context._jsc.sc().getExecutorMemoryStatus().size() > 1:
        assert time.monotonic() < deadline, "idle executors do not end"
        time.sleep(0.5)


if __name__ == "__main__":
    main(*sys.argv[1:])
