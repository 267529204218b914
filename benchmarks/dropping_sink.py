"""A Python sink that drops its rows: the upper limit of a Python sink in Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType


class DroppingWriter(DataSourceArrowWriter):
    """Reads all rows."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Drop the rows of a task."""
        for _ in iterator:
            pass
        return WriterCommitMessage()


class DroppingSink(DataSource):
    """A sink without options."""

    @classmethod
    def name(cls) -> str:
        """The name for `format()`."""
        return "dropping"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: ARG002
        """Write a batch."""
        return DroppingWriter()
