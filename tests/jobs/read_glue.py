"""Reads a topic with frames of AWS Glue, with the credentials of this process's environment.

    python -m tests.jobs.read_glue localhost:9092 topic http://localhost:1234

Prints the id, or null, and the error of each row.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession


def main(servers: str, topic: str, endpoint: str) -> None:
    spark = SparkSession.builder.master("local[1]").getOrCreate()
    options = {
        "kafka.bootstrap.servers": servers,
        "subscribe": topic,
        "value.format": "avro",
        "value.framing": "glue",
        "mode": "PERMISSIVE",
        "schema.registry.glue.endpoint": endpoint,
    }
    rows = spark.read.format("pykafka").options(**options).load().orderBy("offset")
    found = rows.select("value.id", "_error").collect()
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
