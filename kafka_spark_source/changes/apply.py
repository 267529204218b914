"""`apply_changes`: the checks before it, and one MERGE for each micro-batch of changes."""

from __future__ import annotations

import re
import uuid
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.window import Window

from kafka_spark_source.changes import statement
from kafka_spark_source.changes.arguments import (
    AT,
    HISTORY,
    SEQUENCE,
    TOMBSTONE,
    UNAVAILABLE,
    VALID_FROM,
    Arguments,
    ChangeError,
    parse,
)
from kafka_spark_source.changes.checks import Checked, check, check_order, in_order
from kafka_spark_source.changes.known_values import with_known_values, with_values_of_old_keys
from kafka_spark_source.changes.order import POSITION_TYPE
from kafka_spark_source.changes.rows import (
    changes_of,
    columns_of,
    has_position,
    text_parts,
    with_usual_names,
)
from kafka_spark_source.changes.sql import quoted
from kafka_spark_source.changes.target import add_columns, missing_columns, sql_name
from kafka_spark_source.changes.types import is_same
from kafka_spark_source.changes.versions import all_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame

_RAISED: Final = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*?)(?: SQLSTATE: P0001|$)", re.M)


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
    _check_substitution(rows)
    rows = with_usual_names(rows, arguments)
    columns = columns_of(rows, arguments)
    # The checks and the MERGE read the micro-batch several times, and it comes from brokers.
    changes = changes_of(rows, arguments, columns).persist()
    try:
        checked = check(changes, arguments, columns)
        if checked.changes:
            with _errors():
                _merge(arguments, changes, columns, checked, has_position(rows, arguments))
    finally:
        changes.unpersist()


def _check_substitution(rows: DataFrame) -> None:
    """Refuse names that Spark would replace in statements: schemas of others give names."""
    conf = rows.sparkSession.conf
    if "${" in rows.schema.json() and conf.get("spark.sql.variable.substitute") == "true":
        raise ChangeError(
            "a column or field of the rows has `${` in its name, which Spark replaces in SQL: set "
            "spark.sql.variable.substitute to false in this session, or rename it"
        )


def _merge(
    arguments: Arguments,
    changes: DataFrame,
    columns: tuple[str, ...],
    checked: Checked,
    with_position: bool,
) -> None:
    spark = changes.sparkSession
    table = sql_name(spark, arguments.target)
    written = _written(changes.schema, arguments, columns, with_position)
    missing = missing_columns(spark.table(table).schema, written, arguments)
    if missing:
        add_columns(spark, table, missing)
    merge = _merge_into(table, spark.table(table).schema, changes.schema, arguments, columns)
    target = _with_own_columns(spark.table(table), merge, arguments)
    check_order(changes, target, arguments, columns)
    if arguments.history:
        # Spark 4.1 cannot plan a MERGE whose source, a view, reads its target of Iceberg.
        source = all_versions(
            changes, target, arguments, columns, checked.new_keys
        ).localCheckpoint()
        text = statement.versions(replace(merge, with_unavailable=False), HISTORY)
    else:
        source = changes
        if merge.with_unavailable:
            if checked.new_keys:
                source = with_values_of_old_keys(source, target, arguments, columns)
            source = with_known_values(source, arguments, columns)
        source = latest(source, arguments, columns)
        text = statement.latest_rows(merge)
    source.createOrReplaceTempView(merge.source)
    try:
        spark.sql(text)
    finally:
        spark.catalog.dropTempView(merge.source)


def latest(changes: DataFrame, arguments: Arguments, columns: Sequence[str]) -> DataFrame:
    """The newest change of each key."""
    keys = [F.col(quoted(each)) for each in columns[: len(arguments.keys)]]
    newest_first = [each.desc() for each in in_order(arguments)]
    by_key = Window.partitionBy(*keys).orderBy(*newest_first)
    number = "_pykafka_number"
    numbered = changes.withColumn(number, F.row_number().over(by_key))
    return numbered.where(F.col(number) == 1).drop(number)


def _merge_into(
    table: str,
    target: T.StructType,
    changes: T.StructType,
    arguments: Arguments,
    columns: tuple[str, ...],
) -> statement.Merge:
    present = {each.name.lower(): each for each in target}
    own = {*arguments.own_columns, TOMBSTONE, AT, *columns}
    known = {each.lower() for each in own}
    return statement.Merge(
        target=table,
        source=f"pykafka_changes_{uuid.uuid4().hex}",
        keys=columns[: len(arguments.keys)],
        columns=columns,
        same={
            each: is_same(
                *(each, changes[each].dataType, present[each.lower()].dataType),
                *(statement.SOURCE, statement.TARGET),
            )
            for each in columns[len(arguments.keys) :]
        },
        others=tuple(each.name for name, each in present.items() if name not in known),
        by_position=not arguments.sequence_by,
        topic_ids=arguments.topic_ids,
        texts=tuple(text_parts(changes[SEQUENCE].dataType)),
        with_position=bool(arguments.sequence_by) and AT in present,
        with_unavailable=UNAVAILABLE in changes.names,
        with_tombstones=TOMBSTONE in present,
        tombstones=arguments.tombstones,
    )


def _with_own_columns(target: DataFrame, merge: statement.Merge, arguments: Arguments) -> DataFrame:
    """The rows of the target, also with the columns that a target without deletes lacks."""
    if arguments.sequence_by and not merge.with_position:
        target = target.withColumn(AT, F.lit(None).cast(POSITION_TYPE))
    if not merge.with_tombstones:
        target = target.withColumn(TOMBSTONE, F.lit(False))
    return target


def _written(
    changes: T.StructType, arguments: Arguments, columns: Sequence[str], with_position: bool
) -> T.StructType:
    """The columns of the changes that the table gets."""
    own = [SEQUENCE]
    if arguments.sequence_by and with_position:
        own.append(AT)
    if arguments.history:
        own.append(VALID_FROM)
    return T.StructType([changes[each] for each in (*columns, *own)])


@contextmanager
def _errors() -> Iterator[None]:
    """Errors that the statement itself raises, as a ChangeError."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        match = _RAISED.search(str(error))
        if match is None:
            raise
        raise ChangeError(f"{match[1].strip()}; nothing was applied") from error
