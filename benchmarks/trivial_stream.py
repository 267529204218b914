"""The upper limit of a Python streaming source: it reads a number from a file.

The benchmark writes the number of partitions to the file. A micro-batch has the new ones, with
ready-made rows. The rest of its time is Spark's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from benchmarks.ceiling import ready_made, repeated
from kafka_spark_source.schema import source_schema

Offset = dict[str, Any]


class CeilingStream(DataSource):
    """A source with these options.

    path: The file with the number of partitions.
    rows: Rows in a partition, 1 by default.
    partitionsPerTrigger: The most partitions of a micro-batch.
    valueBytes: The size of a value.

    An offset also counts the calls of `latestOffset`.
    """

    @classmethod
    def name(cls) -> str:
        """The name for `format()`."""
        return "ceiling"

    def schema(self) -> StructType:
        """The columns of a topic."""
        return source_schema(include_headers=False)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A reader of rows like the rows of a topic."""
        options = self.options
        batch = partial(ready_made, tuple(schema.names), int(options.get("valueBytes", 100)))
        return _Reader(
            Path(options["path"]),
            batch,
            int(options.get("rows", 1)),
            int(options.get("partitionsPerTrigger", sys.maxsize)),
        )


class _Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(
        self, file: Path, batch: Callable[[], pa.RecordBatch], rows: int, limit: int
    ) -> None:
        self._file = file
        self._batch = batch
        self._rows = rows
        self._limit = limit
        self._asked = 0

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Nothing to do: the file does not change during such a query."""

    def initialOffset(self) -> Offset:
        return {"rows": {"0": 0}, "asked": 0}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: ARG002
        self._asked += 1
        seen = start["rows"]["0"]
        end = min(int(self._file.read_text()), seen + self._limit)
        return start if end == seen else {"rows": {"0": end}, "asked": self._asked}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return [InputPartition(number) for number in range(start["rows"]["0"], end["rows"]["0"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        yield from repeated(self._batch(), self._rows)
