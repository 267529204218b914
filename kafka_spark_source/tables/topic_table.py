"""One topic and its table: how its records become rows, and how they are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from kafka_formats.options.debezium import PREFIX as DEBEZIUM_PREFIX
from kafka_spark_source.changes import apply_changes
from kafka_spark_source.changes import arguments as changes
from kafka_spark_source.changes.rows import columns_of
from kafka_spark_source.changes.sql import quoted
from kafka_spark_source.changes.types import fits
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables.arguments import Arguments, Rows
from kafka_spark_source.tables.commits import Marker
from kafka_spark_source.tables.conform import conformed
from kafka_spark_source.tables.records import TopicRead
from kafka_spark_source.tables.rows import (
    PREFIX,
    Columns,
    appended,
    keys_of_changes,
    read_columns,
    upserted,
)
from kafka_spark_source.tables.sink import append
from kafka_spark_source.tables.target import Target


@dataclass(frozen=True, slots=True)
class TopicTable:
    """How the records of a topic become rows of its table.

    It is valid as long as payloads have no newer schemas.

    Attributes:
        read: The records.
        kind: Their meaning for the table.
        columns: The rows' columns, with expressions over the read's; None for all of them.
        keys: The columns of the key; empty where each record is a row.
        prefix: Before the names of the rows' columns that the table does not get.
        merge_options: More arguments of `apply_changes`.
    """

    read: TopicRead
    kind: Rows
    columns: Columns | None
    keys: tuple[str, ...] = ()
    prefix: str = PREFIX
    merge_options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, arguments: Arguments, topic: str) -> TopicTable:
        """Find the schemas that payloads have now.

        Raises:
            TableError: The records cannot be rows of a table.
            KafkaError: As from `TopicRead.of`.
        """
        kind, keys = arguments.rows_of(topic), arguments.keys_of(topic)
        options = arguments.options_of(topic)
        if kind is Rows.APPEND:
            read = TopicRead.of(options, topic, read_columns(arguments.metadata))
            return cls(read, kind, appended(read.schema, arguments.metadata, topic))
        read, more = TopicRead.of(options, topic), arguments.merge_options_of(topic)
        if kind is Rows.UPSERT:
            own, columns = upserted(read.schema, topic)
            return cls(read, kind, columns, keys or own, PREFIX, more)
        prefix = options[DEBEZIUM_PREFIX.key]
        own = keys or keys_of_changes(read.schema, prefix, topic)
        return cls(read, kind, None, own, prefix, more)

    def write(
        self, target: Target, present: T.StructType, ranges: Sequence[PlannedRange], marker: Marker
    ) -> None:
        """Write the rows of some ranges.

        Args:
            target: The table.
            present: Its columns.
            ranges: The ranges.
            marker: What the commit says, with `append`.

        Raises:
            ChangeError: As from `apply_changes`.
        """
        rows = self.rows(target.spark, ranges)
        if self.kind is Rows.APPEND:
            rows = rows.selectExpr(*conformed(rows.schema, present))
            append(rows, target.name, target.layout.provider, marker)
            return
        rows = rows.selectExpr(*_with_nested_fields(rows.schema, present))
        apply = apply_changes(
            target.name, keys=self.keys, evolve=True, prefix=self.prefix, **self.merge_options
        )
        apply(rows, marker.batch_id)

    def rows(self, spark: SparkSession, ranges: Sequence[PlannedRange]) -> DataFrame:
        """The rows of some ranges, with the columns of the table and of changes."""
        records = self.read.frame(spark, ranges)
        if self.columns is None:
            return records
        columns = (f"{value} AS {quoted(name)}" for name, value in self.columns.items())
        return records.selectExpr(*columns)

    def table_columns(self, spark: SparkSession) -> T.StructType:
        """The columns that the table gets of the rows."""
        rows = self.rows(spark, [])
        if self.kind is Rows.APPEND:
            return rows.schema
        names = columns_of(rows, self._changes())
        return T.StructType([rows.schema[each] for each in names])

    def _changes(self) -> changes.Arguments:
        """The arguments of `apply_changes`, as far as they choose columns."""
        usual: dict[str, Any] = dict.fromkeys(("sequence_by", "delete", "columns", "topic_ids"))
        usual |= {"history": False, "tombstones": True, **self.merge_options}
        return changes.parse("table", self.keys, **usual, evolve=True, prefix=self.prefix)


def _with_nested_fields(rows: T.StructType, table: T.StructType) -> Iterator[str]:
    """The columns of the rows; a column with other fields than the table's gets them.

    A MERGE casts all others, and checks that it can.
    """
    present = {each.name.lower(): each for each in table}
    for column in rows:
        there = present.get(column.name.lower())
        if there is None or fits(column.dataType, there.dataType):
            yield quoted(column.name)
        else:
            yield from conformed(T.StructType([column]), T.StructType([there]))
