"""A job for a Python that has neither Java nor the connector: PySpark's client alone.

    thin_client.py sc://localhost:15002 localhost:9092 source target copy checkpoint

Copies `source` to `target` by a batch and to `copy` by a stream, and prints how many rows it read
and which of Java and the connector it found.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys

from pyspark.sql import SparkSession

MODULES = ("kafka_spark_source", "kafka_protocol", "pyspark_pykafka", "py4j")
_SOON_SECONDS = 120


def main(url: str, servers: str, source: str, target: str, copy: str, checkpoint: str) -> None:
    spark = SparkSession.builder.remote(url).getOrCreate()
    kafka = {"kafka.bootstrap.servers": servers}
    df = spark.read.format("pykafka").options(**kafka, subscribe=source).load()
    df.write.format("pykafka").options(**kafka, topic=target).mode("append").save()
    stream = spark.readStream.format("pykafka").options(
        **kafka, subscribe=source, startingOffsets="earliest"
    )
    writer = (
        stream.load()
        .writeStream.format("pykafka")
        .options(**kafka, topic=copy, checkpointLocation=checkpoint)
    )
    query = writer.trigger(availableNow=True).start()
    if not query.awaitTermination(_SOON_SECONDS):
        raise AssertionError(f"the stream did not end: {query.status}")
    found = [name for name in MODULES if importlib.util.find_spec(name)]
    found += [path for path in [shutil.which("java")] if path]
    print(json.dumps({"rows": df.count(), "found": found}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
