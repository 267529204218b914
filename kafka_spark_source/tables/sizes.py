"""How many files a table has, and how large they are: when to compact it."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import SparkSession


class Size(NamedTuple):
    """The data files of the newest version of a table.

    Attributes:
        files: Their number.
        bytes: What they have together.
    """

    files: int
    bytes: int


def size_of(spark: SparkSession, table: str, provider: str) -> Size:
    """The size of a table.

    Args:
        spark: The session.
        table: The table, as SQL spells it.
        provider: `delta` or `iceberg`.

    Raises:
        PySparkException: It cannot be read.
    """
    return (_of_delta if provider == "delta" else _of_iceberg)(spark, table)


def _of_delta(spark: SparkSession, table: str) -> Size:
    row = spark.sql(f"DESCRIBE DETAIL {table}").select("numFiles", "sizeInBytes").first()
    return Size(0, 0) if row is None else Size(*row)


def _of_iceberg(spark: SparkSession, table: str) -> Size:
    current = f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'"  # noqa: S608 - quoted
    rows = spark.sql(
        "SELECT summary['total-data-files'], summary['total-files-size'] "  # noqa: S608 - quoted
        f"FROM {table}.snapshots WHERE snapshot_id IN ({current})"
    )
    row = rows.first()
    return Size(0, 0) if row is None else Size(*(int(each or 0) for each in row))
