"""A sink in Python that drops its rows: what Spark lets any of them be."""

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
    """Takes all rows."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Drop them."""
        for _ in iterator:
            pass
        return WriterCommitMessage()


class DroppingSink(DataSource):
    """Without options."""

    @classmethod
    def name(cls) -> str:
        """What `format()` takes."""
        return "dropping"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: ARG002
        """Write a batch."""
        return DroppingWriter()
