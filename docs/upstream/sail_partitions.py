"""A write on Sail fails where the plan has more partitions at its end than at its start.

    python sail_partitions.py [coalesce]

In a venv with `pysail==0.7.2 pyspark-client==4.2.0 "pandas<3"`. With `coalesce` it succeeds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceWriter, WriterCommitMessage


class Sink(DataSource):
    """Takes rows, and drops them."""

    @classmethod
    def name(cls) -> str:
        """The format."""
        return "sink"

    def writer(self, schema: object, overwrite: bool) -> DataSourceWriter:  # noqa: ARG002
        """A writer of any rows."""
        return _Writer()


class _Writer(DataSourceWriter):
    def write(self, rows: Iterator[Any]) -> WriterCommitMessage:
        """Read them."""
        for _ in rows:
            pass
        return WriterCommitMessage()


def main() -> None:
    """Group rows, and write the groups."""
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    spark = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
    spark.dataSource.register(Sink)
    rows = spark.createDataFrame([(number,) for number in range(100)], "number int")
    counts = rows.groupBy("number").count()
    if "coalesce" in sys.argv:
        counts = counts.coalesce(1)
    try:
        counts.write.format("sink").mode("append").save()
        print("written")
    finally:
        spark.stop()
        server.stop()


if __name__ == "__main__":
    main()
