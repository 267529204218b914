"""A job for spark-submit whose executors are in zones: reads a topic, and asks the doctor.

    spark-submit zoned.py localhost:9092 topic [option=value ...]

Prints the rows of the topic, and what the doctor finds about replicas in each place.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from kafka_spark_source.doctor import check


def main(servers: str, topic: str, *given: str) -> None:
    options = dict(each.split("=", 1) for each in given)
    options |= {"kafka.bootstrap.servers": servers, "subscribe": topic}
    options["coalescePartitions"] = "false"
    spark = SparkSession.builder.getOrCreate()
    rows = spark.read.format("pykafka").options(**options).load()
    # No executor waits for the other one to have read all.
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
        spark.range(2).count()
    count = rows.count()
    plan = rows._jdf.queryExecution().toString()
    found = {
        place.name: [str(each) for each in place.findings if each.step in ("replica", "options")]
        for place in check(spark, options).places
    }
    spark.stop()
    print(json.dumps({"rows": count, "plan": plan, "found": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
