"""Writes topics to their tables: keeps what it learned about each, and learns it anew where needed.

A table is looked at, and schemas are found, before a topic's first write of a run and after each
write that failed. In between a micro-batch asks neither catalog nor registry.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from kafka_protocol.errors import KafkaError
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables.arguments import Arguments, Rows
from kafka_spark_source.tables.commits import Marker, last_markers
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.names import Names, source_of
from kafka_spark_source.tables.progress import PlannedTable
from kafka_spark_source.tables.ranges import without
from kafka_spark_source.tables.target import Target
from kafka_spark_source.tables.topic_table import TopicTable

_log = logging.getLogger(__name__)

_EVOLVED: Final = "[KAFKA_SCHEMA_"
"""How an error of a task begins that met a newer schema: `kafka_formats.query.evolution`."""
_MAX_SCHEMAS: Final = 20
"""How many newer schemas a micro-batch may meet in a topic, one after the other."""


class Work(NamedTuple):
    """What a topic's table gets.

    Attributes:
        ranges: The ranges.
        query_id: The streaming query.
        batch_id: The micro-batch.
        since_ms: Since when its table may have got a part of the ranges, in ms since 1970; None
            if it has nothing of them.
        late_since: The micro-batch since which the topic is late; None if it is not.
        planned_before: The last micro-batch that earlier runs have planned.
        is_backfill: Whether these are the id and a slice of a backfill.
    """

    ranges: Sequence[PlannedRange]
    query_id: str
    batch_id: int
    since_ms: float | None = None
    late_since: int | None = None
    planned_before: int = -1
    is_backfill: bool = False


class _Known(NamedTuple):
    rows: TopicTable
    target: Target
    present: T.StructType
    is_new: bool


class TableWriter:
    """Writes topics to tables. Threads may share it, each with topics of its own."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        self._names = Names(arguments.table_of)
        self._known: dict[str, Sequence[_Known]] = {}

    def plan(self, spark: SparkSession, topic: str) -> list[PlannedTable]:
        """What a first write would do before it, for each table of a topic. Does nothing."""
        try:
            tables = TopicTable.all_of(self._arguments, topic)
        except KafkaError as error:
            return [PlannedTable(topic, self._name_of_all(topic), (), str(error))]
        return [self._plan(spark, topic, rows) for rows in tables]

    def _plan(self, spark: SparkSession, topic: str, rows: TopicTable) -> PlannedTable:
        source, table = source_of(topic, rows.record_type), ""
        try:
            target = self._target(spark, topic, rows)
            table = target.name
            return PlannedTable(
                source, table, (*target.plan(rows.table_columns(spark), rows.members()),), ""
            )
        except KafkaError as error:
            return PlannedTable(source, table, (), str(error))

    def _name_of_all(self, topic: str) -> str:
        """The name of a topic's only table; empty if it has none that can be."""
        if self._arguments.table_of.has_types:
            return ""
        try:
            return self._names.of(topic)
        except KafkaError:
            return ""

    def _target(self, spark: SparkSession, topic: str, rows: TopicTable) -> Target:
        """The table of a topic, or of one of its record types.

        Raises:
            TableError: As from `Names.of`.
        """
        name = self._names.of(topic, rows.record_type)
        return Target(spark, name, source_of(topic, rows.record_type), self._arguments.layout)

    def has_table(self, spark: SparkSession, topic: str) -> bool:
        """Whether a topic has its table, or any of its tables.

        Raises:
            KafkaError: A table has no name that can be, or a schema cannot be found.
        """
        types: Sequence[str | None] = (None,)
        if self._arguments.table_of.has_types:
            types = [each.record_type for each in TopicTable.all_of(self._arguments, topic)]
        return any(spark.catalog.tableExists(self._names.of(topic, each)) for each in types)

    def tables_of(self, topic: str) -> tuple[str, ...]:
        """The tables of a topic that was written."""
        return tuple(each.target.name for each in self._known.get(topic, ()))

    def write(self, spark: SparkSession, topic: str, work: Work) -> None:
        """Write the records of some ranges of a topic, unless its table has them.

        Raises:
            KafkaError: The records cannot be rows of the table.
            PySparkException: Spark, the catalog or the table's format failed.
        """
        before = ""
        for _ in range(_MAX_SCHEMAS):
            known = self._known.get(topic)
            is_first = known is None
            try:
                failures: list[Exception] = []
                known = known or self._learn(spark, topic, failures)
                self._write_each(known, work, failures, is_first=is_first)
            except Exception as error:
                self._known.pop(topic, None)
                # What was known may be old; a table may have been altered by others.
                is_same = before == (before := str(error))
                if is_first and (is_same or _EVOLVED not in before):
                    raise
            else:
                return
        raise TableError(
            f"topic {topic} had a newer schema {_MAX_SCHEMAS} times while micro-batch "
            f"{work.batch_id} was read: does its producer register one for each record?"
        )

    def _learn(
        self, spark: SparkSession, topic: str, failures: list[Exception]
    ) -> Sequence[_Known]:
        """The tables of a topic; adds to `failures` why others of it cannot be."""
        known = []
        for rows in TopicTable.all_of(self._arguments, topic):
            try:
                target = self._target(spark, topic, rows)
                known.append(
                    _Known(rows, target, *target.prepare(rows.table_columns(spark), rows.members()))
                )
            except TableError as error:
                failures.append(error)
        if not failures:
            self._known[topic] = known
        return known

    def _write_each(
        self,
        known: Sequence[_Known],
        work: Work,
        failures: list[Exception],
        *,
        is_first: bool,
    ) -> None:
        """Write the tables of a topic, of which one that fails stops no other.

        Raises:
            Exception: A newer schema, at once; or the first failure, when all others are written.
        """
        for each in known:
            try:
                self._write(each, work, is_first=is_first)
            except Exception as error:
                if _EVOLVED in str(error):
                    raise
                failures.append(error)
        if failures:
            raise failures[0]

    def _write(self, known: _Known, work: Work, *, is_first: bool) -> None:
        if work.is_backfill and known.is_new and is_first and work.batch_id > 0:
            raise TableError(
                f"the table {known.target.name} was dropped while it was filled anew: stop the "
                "query, drop the table, and start it again with `backfill`"
            )
        if known.is_new and is_first and work.batch_id > 0 and not work.is_backfill:
            _warn_of_new(known.target, work)
        ranges = work.ranges
        # What was late may have been written at this run's start, with the same micro-batch.
        is_repeated = work.since_ms is not None
        is_unknown = is_repeated or (is_first and not known.is_new)
        if is_unknown and known.rows.kind is Rows.APPEND:
            ranges = _lacking(known.target, work)
        if ranges:
            # All that the table has now, not what this commit adds: it may be cut off in its turn.
            marker = Marker.of(work.query_id, work.batch_id, work.ranges)
            known.rows.write(known.target, known.present, ranges, marker)


def _warn_of_new(target: Target, work: Work) -> None:
    first = {each.wanted.topic_partition.partition: each.wanted.from_offset for each in work.ranges}
    if any(first.values()):
        _log.warning(
            "The table %s of topic %s is new, and gets records from these offsets on: %s. If it "
            "was dropped or renamed, `backfill` of start() fills it, before it is made.",
            *(target.name, target.topic, first),
        )


def _lacking(target: Target, work: Work) -> Sequence[PlannedRange]:
    """The ranges that the table lacks: without a late write whose outcome a crash cut off.

    Raises:
        TableError: The table is ahead of the checkpoint, or as from `last_markers`.
    """
    name = target.name
    markers = last_markers(target, work.query_id, work.since_ms, work.late_since)
    if not markers:
        return work.ranges
    last = markers[0]
    if work.is_backfill:  # the slices of an id do not change
        return work.ranges if last.batch_id < work.batch_id else ()
    planned = last.planned()
    is_this = last == Marker.of(work.query_id, work.batch_id, work.ranges)
    if last.batch_id == work.batch_id and planned is not None:
        is_this = is_this or _are_rest_of(work.ranges, planned)
    if is_this:
        return ()
    # A late write is made at a start with the number of the state, which may be an older one.
    late_since = work.batch_id if work.late_since is None else work.late_since
    # An attempt that was cut off wrote them, or a run that an older checkpoint does not know.
    since = [each.planned() for each in markers if each.batch_id >= late_since]
    planned = None if None in since else [part for each in since for part in each or ()]
    is_late = work.late_since is not None and planned is not None
    lacking = without(work.ranges, planned or ()) if is_late else work.ranges
    if is_late and work.batch_id < last.batch_id <= work.planned_before and not lacking:
        return ()
    if last.batch_id >= work.batch_id:
        raise TableError(
            f"the table {name} of topic {target.topic} has micro-batch {last.batch_id} of this "
            f"query with other offsets, and the checkpoint is at micro-batch {work.batch_id}: is "
            "it an older copy? Give the query the newest one; or a new one, and as startingOffsets "
            "the offsets after the last ones in the table"
        )
    if work.late_since is None or last.batch_id < work.late_since:
        return work.ranges
    if planned is None:
        raise TableError(
            f"how much the table {name} of topic {target.topic} lacks is not known: one of its "
            "last commits has too many ranges. Fill a new table"
        )
    return lacking


def _are_rest_of(ranges: Sequence[PlannedRange], planned: Sequence[PlannedRange]) -> bool:
    """Whether ranges are planned ones, of which retention may have removed the beginnings.

    Other ends are another micro-batch with this number, as after an older checkpoint: what it
    lacks of the planned ones would be written again by the next one.
    """
    before = {(each.wanted.topic_partition, each.topic_id): each.wanted for each in planned}
    if len(before) != len(ranges):
        return False
    for each in ranges:
        old = before.get((each.wanted.topic_partition, each.topic_id))
        start, until = each.wanted.from_offset, each.wanted.until_offset
        if old is None or old.from_offset > start or old.until_offset != until:
            return False
    return True
