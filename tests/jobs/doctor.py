"""The doctor on any kind of Spark master; prints the places and whether each is good.

python -m tests.jobs.doctor master 'local-cluster[2,1,1024]' localhost:9092 topic
python -m tests.jobs.doctor remote 'local[2]' localhost:9092 topic
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from kafka_spark_source.doctor import check
from tests.jobs.copy_topic import BOTH_EXECUTORS


def main(kind: str, url: str, servers: str, topic: str) -> None:
    builder = getattr(SparkSession.builder, kind)(url)
    if kind == "master":
        builder = builder.config(map=BOTH_EXECUTORS)
    spark = builder.getOrCreate()
    report = check(spark, {"kafka.bootstrap.servers": servers, "subscribe": topic})
    spark.stop()
    print(json.dumps([(place.name, place.is_good) for place in report.places]))


if __name__ == "__main__":
    main(*sys.argv[1:])
