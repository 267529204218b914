"""Writes topics to their tables: keeps what it learned about each, and learns it anew where needed.

A table is looked at, and schemas are found, before a topic's first write of a run and after each
write that failed. In between a micro-batch asks neither catalog nor registry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables.arguments import Arguments
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.names import Names
from kafka_spark_source.tables.sink import Commit
from kafka_spark_source.tables.target import Target
from kafka_spark_source.tables.topic_table import TopicTable

_EVOLVED: Final = "[KAFKA_SCHEMA_"
"""How an error of a task begins that met a newer schema: `kafka_formats.query.evolution`."""
_MAX_SCHEMAS: Final = 20
"""How many newer schemas a micro-batch may meet in a topic, one after the other."""


class _Known(NamedTuple):
    rows: TopicTable
    target: Target
    present: T.StructType


class TableWriter:
    """Writes topics to tables. Threads may share it, each with topics of its own."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        self._names = Names(arguments.table_of)
        self._known: dict[str, _Known] = {}

    def target(self, spark: SparkSession, topic: str) -> Target:
        """The table of a topic.

        Raises:
            TableError: As from `Names.of`.
        """
        return Target(spark, self._names.of(topic), topic, self._arguments.layout)

    def plan(self, spark: SparkSession, topic: str) -> list[str]:
        """The statements that a first write would execute before it. Executes none.

        Raises:
            KafkaError: The topic cannot be written.
        """
        rows = TopicTable.of(self._arguments, topic)
        return self.target(spark, topic).plan(rows.table_columns(spark))

    def write(
        self, spark: SparkSession, topic: str, ranges: Sequence[PlannedRange], commit: Commit
    ) -> None:
        """Write the records of some ranges of a topic, unless its table has them.

        Raises:
            KafkaError: The records cannot be rows of the table.
            PySparkException: Spark, the catalog or the table's format failed.
        """
        for _ in range(_MAX_SCHEMAS):
            is_new = topic not in self._known
            try:
                known = self._known[topic] if not is_new else self._learn(spark, topic)
                known.rows.write(known.target, known.present, ranges, commit)
            except Exception as error:
                self._known.pop(topic, None)
                # What was known may be old; a table may have been altered by others.
                if is_new and _EVOLVED not in str(error):
                    raise
            else:
                return
        raise TableError(
            f"topic {topic} had a newer schema {_MAX_SCHEMAS} times while micro-batch "
            f"{commit.batch_id} was read: does its producer register one for each record?"
        )

    def _learn(self, spark: SparkSession, topic: str) -> _Known:
        target = self.target(spark, topic)
        rows = TopicTable.of(self._arguments, topic)
        present = target.prepare(rows.table_columns(spark))
        self._known[topic] = _Known(rows, target, present)
        return self._known[topic]
