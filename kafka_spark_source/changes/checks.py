"""Checks all changes of a micro-batch before one is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.window import Window

from kafka_spark_source.changes.arguments import (
    AT,
    PLACE,
    POSITION,
    SEQUENCE,
    TOMBSTONE,
    TOPIC_ID,
    UNAVAILABLE,
    VALID_FROM,
    Arguments,
    ChangeError,
)
from kafka_spark_source.changes.expressions import any_of, quoted_column
from kafka_spark_source.changes.old_keys import UNTOLD
from kafka_spark_source.changes.order import (
    Change,
    age,
    by_offsets,
    by_values,
    in_one_partition,
    told,
    unordered,
)
from kafka_spark_source.changes.rows import (
    CREATED,
    OPERATIONS,
    change_at,
    text_parts,
)
from kafka_spark_source.changes.sql import message, quoted
from kafka_spark_source.changes.types import comparable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_BEFORE: Final = "_pykafka_before"
_REASON: Final = "_pykafka_reason"
_IS_UNORDERED: Final = "_pykafka_is_unordered"
_TWICE: Final = (
    "the record has two different changes of one key: filter one of them out, or give `sequence_by`"
)
_UNTOLD: Final = (
    "the update may have changed the key ({0}), and the row of the key before would stay: neither "
    "the record's key nor `before` has {0}. Set the table's REPLICA IDENTITY to FULL and read with "
    "debezium.before=true, or read the record's key, if it has these columns (in JSON by "
    "key.schema; the connector's message.key.columns needs FULL, too). If the rows have other "
    "names or values than the record, change `before` and the record's key alike"
)


class Checked(NamedTuple):
    """Numbers of changes in a micro-batch.

    Attributes:
        changes: How many changes.
        new_keys: How many of them may give a row a new key, and do not have all of its values.
    """

    changes: int
    new_keys: int


def check(changes: DataFrame, arguments: Arguments, columns: Sequence[str]) -> Checked:
    """Check each change by itself.

    Raises:
        ChangeError: A key, a sequence or a time is null, or an operation is unknown. The text has
            the place of one.
    """
    keys = columns[: len(arguments.keys)]
    faults = {
        # First: the change of the row before may have a null in its key.
        _UNTOLD.format(", ".join(keys)): F.col(UNTOLD),
        f"a key is null: {', '.join(keys)}": _any_null([quoted_column(each) for each in keys]),
        "the sequence is null": _any_null(_sequence_parts(changes, arguments)),
        _no_operation(arguments): F.col(TOMBSTONE).isNull(),
    }
    if arguments.history:
        faults["the time of the change is null"] = F.col(VALID_FROM).isNull()
    if arguments.topic_ids:
        faults["the id of its topic is not in `topic_ids`: add it at the end"] = ~F.coalesce(
            F.col(SEQUENCE)[TOPIC_ID].isin([*arguments.topic_ids]), F.lit(False)
        )
    places = [
        F.min(F.when(condition, F.col(PLACE))).alias(f"fault_{number}")
        for number, condition in enumerate(faults.values())
    ]
    has_new_key = F.lit(False)
    if UNAVAILABLE in changes.columns:
        has_new_key = F.col(CREATED) & (F.size(UNAVAILABLE) > 0)
    counts = F.count(F.lit(1)), F.count_if(has_new_key)
    row = changes.agg(
        *(each.alias(name) for each, name in zip(counts, Checked._fields, strict=True)), *places
    ).collect()[0]
    for number, reason in enumerate(faults):
        place = row[f"fault_{number}"]
        if place is not None:
            raise ChangeError(f"the change of {place}: {reason}; nothing was applied")
    return Checked(*(int(row[each]) for each in Checked._fields))


def in_order(arguments: Arguments) -> list[Column]:
    """The columns by which the changes of a key are in order."""
    if arguments.sequence_by:
        return [F.col(SEQUENCE), F.col(AT)]
    ages = [F.expr(age(SEQUENCE, arguments.topic_ids))] if arguments.topic_ids else []
    return [*ages, F.col(SEQUENCE)]


def check_order(
    changes: DataFrame, target: DataFrame, arguments: Arguments, columns: Sequence[str]
) -> None:
    """Check that the changes of each key in a micro-batch are in order.

    Two different changes with equal values of `sequence_by` are an error while both are at hand,
    unless the target has them already.

    Args:
        changes: The changes, with AT if there is `sequence_by`.
        target: The rows of the target, with all columns.
        arguments: The arguments of `apply_changes`.
        columns: The columns of the table, keys first.

    Raises:
        ChangeError: Two changes are in no order. The text has the places of both.
    """
    keys = columns[: len(arguments.keys)]
    by_key = Window.partitionBy(*map(quoted_column, keys)).orderBy(*in_order(arguments))
    compared = [
        each for each in changes.schema if each.name in {*columns, TOMBSTONE, UNAVAILABLE} - {*keys}
    ]
    contents = F.struct(
        *(
            F.expr(comparable(quoted(each.name), each.dataType)).alias(f"c{number}")
            for number, each in enumerate(compared)
        )
    )
    position = [F.col(AT)] if arguments.sequence_by else []
    previous = F.struct(F.col(SEQUENCE), *position, F.col(PLACE), contents.alias("contents"))
    pairs = changes.withColumn("contents", contents).withColumn(
        _BEFORE, F.lag(previous).over(by_key)
    )
    ours, theirs = change_at(arguments), change_at(arguments, f"{_BEFORE}.")
    differs = f"NOT (contents <=> {_BEFORE}.contents)"
    if arguments.sequence_by:
        # The one before has the lower sequence, so it is the one that may be backwards.
        refusals = by_values(theirs, ours, text_parts(changes.schema[SEQUENCE].dataType))
        equal = f"{ours.sequence} = {theirs.sequence} AND {differs}"
        refusals.append((equal, unordered(ours, theirs)))
    else:
        equal = "false"
        is_same = (
            f"{ours.position}.offset = {theirs.position}.offset AND "
            f"{in_one_partition(ours.position, theirs.position)} AND {differs}"
        )
        twice = (is_same, message("the change of ", _TWICE, ours.place))
        refusals = [*by_offsets(ours, theirs, arguments.topic_ids), twice]
    wrong = (
        pairs.withColumns(
            {_REASON: F.expr(told(refusals)), _IS_UNORDERED: F.expr(f"coalesce({equal}, false)")}
        )
        .where(F.col(_REASON).isNotNull())
        .select(*map(quoted_column, keys), SEQUENCE, *position, _REASON, _IS_UNORDERED)
    )
    rows = wrong.take(1)
    if rows and rows[0][_IS_UNORDERED] and arguments.sequence_by:
        rows = _new_ones(wrong, target, keys).take(1)
    if rows:
        raise ChangeError(f"{rows[0][_REASON]}; nothing was applied")


def _new_ones(wrong: DataFrame, target: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Those whose changes the target does not have; it has them in a row that is not older."""
    ours = Change(f"s.{quoted(SEQUENCE)}", f"s.{quoted(AT)}", "''")
    theirs = Change(f"t.{quoted(SEQUENCE)}", f"t.{quoted(AT)}", "''")
    same_key = " AND ".join(f"t.{quoted(each)} = s.{quoted(each)}" for each in keys)
    is_there = (
        f"({theirs.sequence} > {ours.sequence} OR {theirs.sequence} = {ours.sequence} AND "
        f"{in_one_partition(ours.position, theirs.position)} AND "
        f"{theirs.position}.offset >= {ours.position}.offset)"
    )
    known = target.alias("t")
    left = wrong.alias("s")
    there = left.join(known, F.expr(f"{same_key} AND {is_there}"), "left_anti")
    return left.where(~F.col(_IS_UNORDERED)).unionByName(there.where(F.col(_IS_UNORDERED)))


def _no_operation(arguments: Arguments) -> str:
    if arguments.delete is not None:
        return "`delete` is null, neither true nor false"
    return (
        f"op is not one of {', '.join(OPERATIONS)}: filter other events out before, e.g. truncates"
    )


def _sequence_parts(changes: DataFrame, arguments: Arguments) -> list[Column]:
    """The parts of the sequence that may not be null; brokers before Kafka 2.8 give no ids."""
    sequence = F.col(SEQUENCE)
    if not arguments.sequence_by:
        return [sequence[each] for each in POSITION]
    type_ = changes.schema[SEQUENCE].dataType
    names = type_.names if isinstance(type_, T.StructType) else []
    return [sequence, *(sequence[each] for each in names)]


def _any_null(columns: Sequence[Column]) -> Column:
    return any_of(each.isNull() for each in columns)
