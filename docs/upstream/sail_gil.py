"""Hangs pysail 0.7.2: batches whose memory is numpy's, from a Python data source.

    python sail_gil.py numpy     # hangs, mostly in the first queries
    python sail_gil.py arrow     # memory that Arrow allocated: 20 queries

Needs pysail, pyspark-client, pyarrow and numpy.
"""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

PARTITIONS, BATCHES, ROWS, QUERIES = 8, 400, 500, 20

MAKE = {
    # Refers to numpy's memory: who drops it takes the GIL.
    "numpy": lambda: pa.array(np.arange(ROWS)),
    # A copy in Arrow's memory: who drops it needs no Python.
    "arrow": lambda: pa.array(range(ROWS), pa.int64()),
}


class Numbers(DataSource):
    """Batches of one column."""

    @classmethod
    def name(cls) -> str:
        """The format."""
        return "numbers"

    def schema(self) -> Any:
        """The schema, as Sail wants it."""
        return pa.schema([("number", pa.int64())])

    def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002
        """The reader."""
        return _Reader(self.options["memory"])


class _Reader(DataSourceReader):
    def __init__(self, memory: str) -> None:
        self._memory = memory

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(PARTITIONS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        for _ in range(BATCHES):
            yield pa.record_batch([MAKE[self._memory]()], names=["number"])


def main(memory: str) -> None:
    """Run the queries; after 60 s show where each thread waits, and end."""
    faulthandler.dump_traceback_later(60, exit=True)
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    spark = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
    spark.dataSource.register(Numbers)
    for query in range(1, QUERIES + 1):
        df = spark.read.format("numbers").option("memory", memory).load()
        print(query, df.where("number >= 0").count(), flush=True)
    spark.stop()
    server.stop()
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(sys.argv[1])
