"""Freed memory is poisoned in Spark's workers, too (`tests/poison.py`)."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from tests.poison import BYTE, SHOW_FREED_MEMORY


class FreedMemory(DataSource):
    """A row with the bytes of freed memory in a worker."""

    @classmethod
    def name(cls) -> str:
        return "freed-memory"

    def schema(self) -> str:
        return "freed string"

    def reader(self, schema: object) -> DataSourceReader:
        return _Reader()


class _Reader(DataSourceReader):
    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        with redirect_stdout(io.StringIO()) as shown:
            exec(SHOW_FREED_MEMORY, {})
        yield (shown.getvalue().strip(),)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc only")
@pytest.mark.spark
@pytest.mark.slow
def test_workers_of_spark_have_the_poison(spark: SparkSession) -> None:
    spark.dataSource.register(FreedMemory)
    (row,) = spark.read.format("freed-memory").load().collect()
    assert row.freed == str({BYTE})
