"""`apply_changes`: the checks before it, and one MERGE for each micro-batch of changes."""

from __future__ import annotations

import uuid
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import types as T

from kafka_spark_source.changes import statement
from kafka_spark_source.changes.arguments import (
    HISTORY,
    SEQUENCE,
    UNAVAILABLE,
    VALID_FROM,
    Arguments,
    parse,
    table_columns,
)
from kafka_spark_source.changes.rows import changes_of, check, latest, with_known_values
from kafka_spark_source.changes.target import add_columns, missing_columns, sql_name
from kafka_spark_source.changes.versions import all_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame


def apply_changes(  # noqa: PLR0913 - each is an option of the user, with a default
    target: str,
    *,
    keys: str | Sequence[str],
    sequence_by: str | Sequence[str] | None = None,
    topic_ids: Sequence[str] | None = None,
    delete: str | None = None,
    columns: Sequence[str] | None = None,
    evolve: bool = False,
    history: bool | str = False,
    tombstones: bool = True,
    prefix: str = "",
) -> Callable[[DataFrame, int], None]:
    """The function for `foreachBatch` that applies changes to a table of Delta or Iceberg.

    Each micro-batch is one MERGE, so it is applied as a whole or not at all. A change is applied
    if it is newer than the row. A change that is repeated, alone or with a whole range of offsets,
    has no effect. The target keeps the sequence of each row in `_sequence`. It keeps the keys of a
    deleted row, with `_tombstone` true: query `WHERE _tombstone IS NOT TRUE`, or such a view.

    The rows come from a read with the option `envelope`, or are any rows with a column `op` (c, u,
    r: a row, d: a delete). A column that the database did not send (`_unavailable`) keeps its
    value.

    Args:
        target: The name of the table, or its path, which has a slash. The table must exist, with
            the columns of the key.
        keys: The columns that identify a row. None of them may be null.
        sequence_by: Expressions of SQL that order the changes of a key, the first one first. By
            default the offset: then all changes of a key must be in one partition, as Kafka has
            them until partitions are added.
        topic_ids: After a topic was deleted and created again: its ids so far, the oldest first.
            The changes of a newer topic are then newer, whatever their offsets.
        delete: A condition of SQL that is true for a delete, by default `op = 'd'`.
        columns: The columns of the rows that the table gets, with the keys. By default all but
            the columns of the envelope and of Kafka.
        evolve: Add columns that the table lacks (ALTER TABLE, before the MERGE).
        history: Keep all versions of a row (slowly changing dimension, type 2), with `valid_from`,
            `valid_to` and `current`. An expression of SQL gives the time of a change; with True it
            is the database's (`source.ts_ms`), else Debezium's (`ts_ms`), else the record's.
        tombstones: Keep the keys of deleted rows. Without them a delete removes the row, and an
            older change that comes again brings it back until its delete comes again, too.
        prefix: The value of the read's option `debezium.prefix`, which is before the names of
            columns that are not the table's.

    Raises:
        KafkaConfigError: An argument is wrong.
        ChangeError: From the function: a micro-batch or the target is not as described above.
            Nothing of the micro-batch was applied.

    Example:
        >>> changes.writeStream.foreachBatch(  # doctest: +SKIP
        ...     apply_changes("shop.orders", keys=["id"], evolve=True)
        ... ).option("checkpointLocation", "/data/checkpoints/orders").start()
    """
    arguments = parse(
        target,
        keys,
        sequence_by,
        delete,
        columns,
        topic_ids=topic_ids,
        evolve=evolve,
        history=history,
        tombstones=tombstones,
        prefix=prefix,
    )
    return partial(_apply, arguments)


def _apply(arguments: Arguments, rows: DataFrame, _batch_id: int) -> None:
    columns = table_columns(arguments, rows.columns)
    # The check and the MERGE read the micro-batch several times, and it comes from brokers.
    changes = changes_of(rows, arguments, columns).persist()
    try:
        if check(changes, arguments, columns):
            _merge(arguments, changes, columns)
    finally:
        changes.unpersist()


def _merge(arguments: Arguments, changes: DataFrame, columns: tuple[str, ...]) -> None:
    spark = changes.sparkSession
    table = sql_name(spark, arguments.target)
    missing = missing_columns(
        spark.table(table).schema, _written(changes.schema, arguments, columns), arguments
    )
    if missing:
        add_columns(spark, table, missing)
    keys = columns[: len(arguments.keys)]
    merge = statement.Merge(
        target=table,
        source=f"pykafka_changes_{uuid.uuid4().hex}",
        keys=keys,
        columns=columns,
        by_position=not arguments.sequence_by,
        topic_ids=arguments.topic_ids,
        with_unavailable=UNAVAILABLE in changes.columns,
        tombstones=arguments.tombstones,
    )
    if arguments.history:
        # Spark 4.1 cannot plan a MERGE whose source, a view, reads its target of Iceberg.
        source = all_versions(changes, spark.table(table), merge).localCheckpoint()
        text = statement.versions(merge, HISTORY)
    else:
        source = changes
        if merge.with_unavailable:
            source = with_known_values(source, keys, columns, merge.topic_ids)
        source = latest(source, keys, merge.topic_ids)
        text = statement.latest_rows(merge)
    source.createOrReplaceTempView(merge.source)
    try:
        spark.sql(text)
    finally:
        spark.catalog.dropTempView(merge.source)


def _written(changes: T.StructType, arguments: Arguments, columns: Sequence[str]) -> T.StructType:
    """The columns of the changes that the table gets."""
    own = (SEQUENCE, VALID_FROM) if arguments.history else (SEQUENCE,)
    return T.StructType([changes[each] for each in (*columns, *own)])
