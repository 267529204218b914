"""Writes the rows of a topic to its table, so that a repeated micro-batch changes nothing.

`append`: the commit of the table carries the query and the micro-batch; a table that has them
already takes no rows. Delta keeps them as an application's transaction, Iceberg as properties of a
snapshot. `upsert` and `changes`: a MERGE by the order that the table keeps with each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from pyspark.sql import DataFrame

from kafka_spark_source.changes.sql import text
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables.errors import TableError

_QUERY: Final = "pykafka-query"
_BATCH: Final = "pykafka-batch"
_PLACE: Final = ("_kafka_topic", "_kafka_partition", "_kafka_offset")


class Commit(NamedTuple):
    """What a table's commit carries: the id of the streaming query, and its micro-batch."""

    query_id: str
    batch_id: int


def append(
    rows: DataFrame, table: str, provider: str, ranges: Sequence[PlannedRange], commit: Commit
) -> None:
    """Append the rows of some ranges, unless the table has them.

    Args:
        rows: They have the table's columns.
        table: The name, as SQL spells it.
        provider: `delta` or `iceberg`.
        ranges: The ranges.
        commit: The query and the micro-batch.

    Raises:
        TableError: Whether the table has the rows is not known any more.
    """
    if provider == "delta":
        # Delta itself compares the version with the last one of the application.
        options = {"txnAppId": commit.query_id, "txnVersion": str(commit.batch_id)}
        rows.write.format("delta").mode("append").options(**options).saveAsTable(table)
    elif not _iceberg_has(rows, table, ranges, commit):
        writer = rows.writeTo(table)
        for name, value in zip((_QUERY, _BATCH), commit, strict=True):
            writer = writer.option(f"snapshot-property.{name}", str(value))
        writer.append()


def _iceberg_has(
    rows: DataFrame, table: str, ranges: Sequence[PlannedRange], commit: Commit
) -> bool:
    """Whether a snapshot of the table is of this micro-batch, or of a later one.

    Raises:
        TableError: Snapshots have expired, and the rows do not show where they come from.
    """
    ours = f"summary['{_QUERY}'] = {text(commit.query_id)}"
    counted = (
        f"max(CAST(IF({ours}, summary['{_BATCH}'], NULL) AS BIGINT)), count(*), "
        "count_if(parent_id IS NULL)"
    )
    statement = f"SELECT {counted} FROM {table}.snapshots"  # noqa: S608 - names are quoted
    last, snapshots, first_ones = rows.sparkSession.sql(statement).collect()[0]
    if last is not None or first_ones or not snapshots:
        return last is not None and last >= commit.batch_id
    if not {*_PLACE} <= {*rows.columns}:
        raise TableError(
            f"the table {table} may have the rows of micro-batch {commit.batch_id} already, and "
            "its snapshots that would show it have expired: keep snapshots until the query has "
            f"written again, or give the table {', '.join(_PLACE)} as `metadata`"
        )
    place = rows.sparkSession.table(table).where(" OR ".join(map(_condition, ranges)))
    return not place.select(*_PLACE).isEmpty()


def _condition(planned: PlannedRange) -> str:
    (topic, partition), start, until = planned.wanted
    return (
        f"(_kafka_topic = {text(topic)} AND _kafka_partition = {partition} "
        f"AND _kafka_offset >= {start} AND _kafka_offset < {until})"
    )
