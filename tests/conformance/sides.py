"""The same batch read through both connectors: rows, tasks, errors. Nothing here makes topics."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Final, NamedTuple

import pytest
from py4j.java_gateway import JavaObject, is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, Row, SparkSession
from pyspark.sql import functions as F

THEIRS: Final = "kafka"
OURS: Final = "pykafka"
FORMATS: Final = (THEIRS, OURS)

PARTITION: Final = itemgetter("topic", "partition")
POSITION: Final = itemgetter("topic", "partition", "offset")


class Piece(NamedTuple):
    """What one task read of a topic-partition: first and last offset, number of rows."""

    topic: str
    partition: int
    first: int
    last: int
    rows: int


class Sides:
    """Reads the same topics through both connectors, in a session that has both."""

    def __init__(self, spark: SparkSession, servers: str) -> None:
        self._spark = spark
        self._options = {"kafka.bootstrap.servers": servers}

    def reader(self, connector: str, options: Mapping[str, str | None]) -> DataFrameReader:
        """A reader through one connector; an option of None is left out."""
        merged = self._options | dict(options)
        given = {name: value for name, value in merged.items() if value is not None}
        return self._spark.read.format(connector).options(**given)

    def load(self, connector: str, options: Mapping[str, str | None]) -> DataFrame:
        """The rows that one connector reads."""
        return self.reader(connector, options).load()

    def rows(self, **options: str) -> list[Row]:
        """The rows of both connectors, which must be equal; `__` in an option stands for a dot.

        Every column is compared, and the rows of a partition must be in the order of offsets.
        """
        theirs, ours = (in_order(self.load(each, dotted(options))) for each in FORMATS)
        assert ours == theirs
        return theirs

    def pieces(self, **options: str) -> set[Piece]:
        """What each task with rows read, which must be equal for both connectors."""
        theirs, ours = (pieces_of(each) for each in self._apart(options))
        assert ours == theirs
        return theirs

    def tasks(self, **options: str) -> list[int]:
        """How many tasks each connector plans."""
        return [each.rdd.getNumPartitions() for each in self._apart(options)]

    def _apart(self, options: Mapping[str, str]) -> list[DataFrame]:
        """The rows of both connectors, with a task for each range."""
        given = dotted(options)
        ours = given | {"coalescePartitions": "false"}
        return [self.load(THEIRS, given), self.load(OURS, ours)]

    def error(self, connector: str, options: Mapping[str, str | None]) -> str:
        """The error text of one connector; it is an assertion error if it does not fail."""
        with pytest.raises((PySparkException, Py4JJavaError)) as caught:
            self.load(connector, options).collect()
        return text_of(caught.value)


def error_of(df: DataFrame) -> str:
    """The error text of a query; it is an assertion error if it does not fail."""
    with pytest.raises((PySparkException, Py4JJavaError)) as caught:
        df.collect()
    return text_of(caught.value)


def text_of(error: Exception) -> str:
    """The text of an error, with the conditions of its causes, which Java's text leaves out."""
    parts = [str(error)]
    cause = getattr(error, "java_exception", None)
    while cause is not None:
        parts.append(str(cause.getCondition()) if _has_condition(cause) else "")
        cause = cause.getCause()
    return "\n".join(parts)


def _has_condition(throwable: JavaObject) -> bool:
    context = SparkContext._active_spark_context
    assert context is not None
    return bool(is_instance_of(context._gateway, throwable, "org.apache.spark.SparkThrowable"))


def dotted(options: Mapping[str, str]) -> dict[str, str]:
    """`kafka__isolation__level` -> `kafka.isolation.level`."""
    return {name.replace("__", "."): value for name, value in options.items()}


def in_order(df: DataFrame) -> list[Row]:
    """All rows by partition and offset; checks that each partition was read in order."""
    by_partition = sorted(df.collect(), key=PARTITION)
    assert by_partition == sorted(by_partition, key=POSITION)
    return by_partition


def pieces_of(df: DataFrame) -> set[Piece]:
    """What each task read."""
    ends = F.min("offset"), F.max("offset"), F.count("*")
    grouped = df.groupBy(F.spark_partition_id(), "topic", "partition").agg(*ends)
    return {Piece(*row[1:]) for row in grouped.collect()}
