"""One topic and its table, or one of its record types: how records become rows and are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from kafka_formats.options.debezium import PREFIX as DEBEZIUM_PREFIX
from kafka_formats.options.settings import Mode
from kafka_formats.options.table import MODE
from kafka_formats.payload.record_types import TYPE_FIELD
from kafka_spark_source.changes import apply_changes
from kafka_spark_source.changes import arguments as changes
from kafka_spark_source.changes.rows import columns_of
from kafka_spark_source.changes.sql import quoted
from kafka_spark_source.changes.types import fits
from kafka_spark_source.options.table import Table
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables.arguments import Arguments, Rows
from kafka_spark_source.tables.commits import Marker
from kafka_spark_source.tables.conform import conformed
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.names import source_of
from kafka_spark_source.tables.records import TopicRead, TopicRecords
from kafka_spark_source.tables.rows import (
    PREFIX,
    Columns,
    appended,
    keys_of_changes,
    of_record_type,
    read_columns,
    upserted,
)
from kafka_spark_source.tables.sink import append
from kafka_spark_source.tables.target import Target

_PLACE: Final = ("topic", "partition", "offset")


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
        record_type: The type of its records; None for all of the topic.
        record_types: All types that the topic has.
        member: The field of the value with its type; None for all of the topic.
    """

    read: TopicRead
    kind: Rows
    columns: Columns | None
    keys: tuple[str, ...] = ()
    prefix: str = PREFIX
    merge_options: Mapping[str, Any] = field(default_factory=dict)
    record_type: str | None = None
    record_types: tuple[str, ...] = ()
    member: str | None = None

    @classmethod
    def all_of(cls, arguments: Arguments, topic: str) -> list[TopicTable]:
        """One for the topic, or one for each of its record types.

        Raises:
            TableError: As from `of`, or the topic has no record types.
            KafkaError: As from `TopicRecords`.
        """
        if not arguments.table_of.has_types:
            return [cls.of(arguments, topic)]
        options = arguments.options_of(topic)
        _check_can_have_types(arguments, options, topic)
        records = TopicRecords(options, topic)
        if not records.types():
            raise TableError(
                f"`table` has a name for each record type, and topic {topic} has only one: give it "
                "the option value.subjects or value.subjects.pattern"
            )
        return [*cls._of_types(arguments, records, topic)]

    @classmethod
    def _of_types(
        cls, arguments: Arguments, records: TopicRecords, topic: str
    ) -> Iterator[TopicTable]:
        metadata = arguments.metadata
        columns = [*read_columns(metadata), *_PLACE]
        types = records.types()
        # One read puts broken records aside; the others leave them out.
        puts_aside = Table.DEAD_LETTER_TOPIC.key in arguments.options_of(topic)
        for name, member in types.items():
            # A type that is not read is skipped undecoded: only who reads all finds what is broken.
            fields = [TYPE_FIELD, *(types.values() if puts_aside else [member])]
            read = records.read(columns, fields, puts_aside=puts_aside)
            rows = of_record_type(read.schema, member, metadata, source_of(topic, name))
            yield cls(
                read, Rows.APPEND, rows, record_type=name, record_types=(*types,), member=member
            )
            puts_aside = False

    @classmethod
    def of(cls, arguments: Arguments, topic: str) -> TopicTable:
        """Find the schemas that payloads have now.

        Raises:
            TableError: The records cannot be rows of a table.
            KafkaError: As from `TopicRecords`.
        """
        kind, keys = arguments.rows_of(topic), arguments.keys_of(topic)
        options = arguments.options_of(topic)
        records = TopicRecords(options, topic)
        if kind is Rows.APPEND:
            read = records.read(read_columns(arguments.metadata))
            return cls(read, kind, appended(read.schema, arguments.metadata, topic))
        read, more = records.read(), arguments.merge_options_of(topic)
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
        if self.record_type is not None:
            records = records.where(_has_type(self.record_type, self.record_types))
        columns = (f"{value} AS {quoted(name)}" for name, value in self.columns.items())
        return records.selectExpr(*columns)

    def table_columns(self, spark: SparkSession) -> T.StructType:
        """The columns that the table gets of the rows."""
        rows = self.rows(spark, [])
        if self.kind is Rows.APPEND:
            return rows.schema
        names = columns_of(rows, self._changes())
        return T.StructType([rows.schema[each] for each in names])

    def members(self) -> Mapping[str, Sequence[str]]:
        """Path of a struct in the records -> the types of its fields `member0`, `member1`.

        Columns have the same name in whichever case. A record type's table has only its own, by
        paths without the type's member, whose name may become longer.
        """
        own = "" if self.member is None else f"value.{self.member}."
        return {
            path.removeprefix(own[:-1]).lower(): types
            for path, types in self.read.members.items()
            if f"{path}.".startswith(own)
        }

    def _changes(self) -> changes.Arguments:
        """The arguments of `apply_changes`, as far as they choose columns."""
        usual: dict[str, Any] = dict.fromkeys(("sequence_by", "delete", "columns", "topic_ids"))
        usual |= {"history": False, "tombstones": True, **self.merge_options}
        return changes.parse("table", self.keys, **usual, evolve=True, prefix=self.prefix)


def _check_can_have_types(arguments: Arguments, options: Mapping[str, str], topic: str) -> None:
    """Refuse what would leave some records without a table.

    Raises:
        TableError: A record may delete a row, of which type is not known; or a broken payload,
            which has no type, would be a row.
    """
    if (rows := arguments.rows_of(topic)) is not Rows.APPEND:
        raise TableError(
            f"`table` has a name for each record type, and `rows` says {rows.value} for topic "
            f"{topic}: a deletion has no type. Only {Rows.APPEND.value} can be so"
        )
    if MODE.value_if_in(options) is Mode.PERMISSIVE:
        raise TableError(
            f"`table` has a name for each record type, and topic {topic} has the option "
            f"{MODE.name}=PERMISSIVE: a broken payload has no type. Set DROPMALFORMED or "
            "deadLetterTopic, or remove the option"
        )


def _has_type(name: str, names: Sequence[str]) -> Column:
    """Whether a record has a type.

    Fails for a record with a null value, which no table would have.
    """
    own = F.col("value").getField(TYPE_FIELD)
    place = F.format_string(
        "topic %s, partition %d, offset %d has a null value, which has no record type: make one "
        "table of the topic, or set a format whose records all have a type",
        *map(F.col, _PLACE),
    )
    is_known = own.isin(*names)
    return F.when(is_known, own == F.lit(name)).otherwise(F.raise_error(place).cast("boolean"))


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
