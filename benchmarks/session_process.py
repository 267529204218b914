"""A session of Spark or of Sail, which runs queries when told.

Each line of the input is the JSON of a `Query`, and the response a line with a `Ran`. The first
line, of a session that is ready, is a `Ready`. Settings of a session of Spark, as JSON, may follow
its kind on the command line.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from types import MappingProxyType
from typing import NamedTuple

from pyspark.sql import SparkSession

from benchmarks.processes import jvm_of
from tests.sail_session import run_sail_session


class Query(NamedTuple):
    """A read of a topic.

    Attributes:
        columns: The columns to read, as a DDL schema; empty: all of them.
        to: The topic to copy to; empty: into the noop sink.
        headers: Whether headers are read.
        counts: Whether rows are counted only.
        options: More options of the read.
    """

    format: str
    servers: str
    topic: str
    columns: str = ""
    to: str = ""
    headers: bool = False
    counts: bool = False
    options: Mapping[str, str] = MappingProxyType({})


class Ready(NamedTuple):
    """A session that was started: its version, and the process of its JVM, or else its own."""

    version: str
    server: int


class Ran(NamedTuple):
    """A query that has ended: its seconds, and its rows if it counts them."""

    seconds: float
    rows: int | None


@contextmanager
def spark_session(conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    from benchmarks.ceiling import Ceiling  # noqa: PLC0415
    from benchmarks.session import TUNED, start  # noqa: PLC0415
    from tests.jvm_connector import spark_jars  # noqa: PLC0415

    spark = start(spark_jars(lambda _what: None), TUNED if conf is None else conf)
    spark.dataSource.register(Ceiling)
    yield spark
    spark.stop()


# By the package of the server.
SESSIONS = {"pyspark": spark_session, "pysail": contextmanager(run_sail_session)}


def run(spark: SparkSession, query: Query) -> int | None:
    """Run a query; the count if it counts."""
    servers = {"kafka.bootstrap.servers": query.servers}
    reader = spark.read.format(query.format).options(**servers, subscribe=query.topic)
    reader = reader.options(**query.options)
    if query.headers:
        reader = reader.option("includeHeaders", "true")
    # Spark's connector takes no schema; Spark drops the other columns later.
    if query.columns and query.format != "kafka":
        reader = reader.schema(query.columns)
    rows = reader.load()
    if query.columns:
        rows = rows.select(*(column.split()[0] for column in query.columns.split(", ")))
    if query.counts:
        return rows.count()
    if query.to:
        rows.write.format(query.format).options(**servers, topic=query.to).mode("append").save()
    else:
        rows.write.format("noop").mode("overwrite").save()
    return None


def main(kind: str, *arguments: str) -> None:
    with SESSIONS[kind](*map(json.loads, arguments)) as spark:
        server = jvm_of(spark) if kind == "pyspark" else os.getpid()
        print(json.dumps(Ready(f"{kind} {metadata.version(kind)}", server)), flush=True)
        for line in sys.stdin:
            before = time.perf_counter()
            count = run(spark, Query(*json.loads(line)))
            print(json.dumps(Ran(time.perf_counter() - before, count)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
