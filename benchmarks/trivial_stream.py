"""The fastest that a Python streaming source can be: it reads a number from a file.

That number is how many rows there are; whoever runs the benchmark writes it. A micro-batch has one
partition of one row for each that came. What is left of its time is Spark's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from benchmarks.ceiling import ready_made
from kafka_spark_source.schema import source_schema

VALUE_BYTES = 100


class CeilingStream(DataSource):
    """Options: path, of the file with the number of rows.

    An offset also has how often Spark has asked for it.
    """

    @classmethod
    def name(cls) -> str:
        """What `format()` takes."""
        return "ceiling"

    def schema(self) -> StructType:
        """The columns of a topic."""
        return source_schema(include_headers=False)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A reader of rows like those of a topic."""
        return _Reader(tuple(schema.names), Path(self.options["path"]))


class _Reader(DataSourceStreamReader):
    def __init__(self, columns: tuple[str, ...], file: Path) -> None:
        self._columns = columns
        self._file = file
        self._asked = 0

    def initialOffset(self) -> dict[str, object]:
        return {"rows": {"0": 0}, "asked": 0}

    def latestOffset(self, start: dict, limit: ReadLimit) -> dict[str, object]:  # noqa: ARG002
        self._asked += 1
        rows = {"0": int(self._file.read_text())}
        return start if rows == start["rows"] else {"rows": rows, "asked": self._asked}

    def partitions(self, start: dict, end: dict) -> list[InputPartition]:
        return [InputPartition(number) for number in range(start["rows"]["0"], end["rows"]["0"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        yield ready_made(self._columns, VALUE_BYTES).slice(0, 1)
