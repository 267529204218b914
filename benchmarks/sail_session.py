"""A session of Spark or of Sail, which `benchmarks/sail.py` tells what to run and when.

Each line of the input is the JSON of a query: contender, topic, columns, and the topic to copy to.
The response is a line with its seconds. The first line, of a session that is ready, has its
version.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any

from pyspark.sql import SparkSession

FORMATS = {"kafka": "kafka", "pykafka": "pykafka", "pykafka on Sail": "pykafka"}


@contextmanager
def spark_session() -> Iterator[SparkSession]:
    from benchmarks.session import start  # noqa: PLC0415
    from tests.jvm_connector import spark_jars  # noqa: PLC0415

    spark = start(spark_jars(lambda _what: None))
    yield spark
    spark.stop()


@contextmanager
def sail_session() -> Iterator[SparkSession]:
    from pysail.spark import SparkConnectServer  # noqa: PLC0415

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    spark = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
    yield spark
    spark.stop()
    server.stop()


# By the package of the server.
SESSIONS = {"pyspark": spark_session, "pysail": sail_session}


def run(spark: SparkSession, query: dict[str, Any]) -> None:
    format_ = FORMATS[query["contender"]]
    servers = {"kafka.bootstrap.servers": query["servers"]}
    reader = spark.read.format(format_).options(**servers, subscribe=query["topic"])
    columns = query["columns"]
    if columns and format_ == "pykafka":
        reader = reader.schema(columns)
    rows = reader.load()
    if columns:
        rows = rows.select(*(column.split()[0] for column in columns.split(", ")))
    if query["to"]:
        rows.write.format(format_).options(**servers, topic=query["to"]).mode("append").save()
    else:
        rows.write.format("noop").mode("overwrite").save()


def main(kind: str) -> None:
    with SESSIONS[kind]() as spark:
        print(json.dumps(f"{kind} {metadata.version(kind)}"), flush=True)
        for line in sys.stdin:
            before = time.perf_counter()
            run(spark, json.loads(line))
            print(json.dumps(time.perf_counter() - before), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
