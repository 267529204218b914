"""The rows of a micro-batch as changes: checked, and one for each key.

A change has the table's columns, its sequence, whether it deletes the row, and its place in Kafka.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.window import Window

from kafka_spark_source.changes.arguments import (
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
from kafka_spark_source.changes.order import MOVED, RECREATED, age
from kafka_spark_source.changes.sql import failure, quoted, text
from kafka_spark_source.changes.statement import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_OP: Final = "op"
_DELETE: Final = "d"
_OPERATIONS: Final = ("c", "u", "r", _DELETE)
# The time of a change, where rows have one: in the database, of Debezium, of the record.
_TIMES: Final = ("source.ts_ms", "ts_ms", "timestamp")


def changes_of(rows: DataFrame, arguments: Arguments, columns: Sequence[str]) -> DataFrame:
    """The rows as changes. A delete has nulls but for the keys.

    Args:
        rows: A micro-batch.
        arguments: The arguments of `apply_changes`.
        columns: The columns of the table, keys first.

    Raises:
        ChangeError: The rows lack a column that tells the operation, the sequence or the time.
    """
    deleted = F.expr(_delete_condition(rows, arguments))
    keys = columns[: len(arguments.keys)]
    values = [
        F.col(quoted(each)) if each in keys else _unless(deleted, F.col(quoted(each))).alias(each)
        for each in columns
    ]
    unavailable = [F.col(UNAVAILABLE)] if UNAVAILABLE in rows.columns else []
    time = [_time(rows, arguments).alias(VALID_FROM)] if arguments.history else []
    return rows.select(
        *values,
        _sequence(rows, arguments).alias(SEQUENCE),
        deleted.alias(TOMBSTONE),
        _place(rows, arguments).alias(PLACE),
        *unavailable,
        *time,
    )


def check(changes: DataFrame, arguments: Arguments, columns: Sequence[str]) -> int:
    """Check all changes of a micro-batch before one is applied; how many there are.

    Raises:
        ChangeError: A key, a sequence or a time is null, an operation is unknown, or changes of
            a key are in no order. The text has the place of one.
    """
    keys = columns[: len(arguments.keys)]
    faults = {
        f"a key is null: {', '.join(keys)}": _any_null([F.col(quoted(each)) for each in keys]),
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
    found = changes.agg(F.count(F.lit(1)).alias("rows"), *places).collect()[0]
    for number, reason in enumerate(faults):
        place = found[f"fault_{number}"]
        if place is not None:
            raise ChangeError(f"the change of {place}: {reason}; nothing was applied")
    if found["rows"]:
        _check_order(changes, arguments, keys)
    return int(found["rows"])


def in_order(topic_ids: Sequence[str]) -> list[Column]:
    """The columns by which the changes of a key are in order."""
    ages = [F.expr(age(SEQUENCE, topic_ids))] if topic_ids else []
    return [*ages, F.col(SEQUENCE)]


def latest(changes: DataFrame, keys: Sequence[str], topic_ids: Sequence[str] = ()) -> DataFrame:
    """The newest change of each key."""
    newest_first = [each.desc() for each in in_order(topic_ids)]
    by_key = Window.partitionBy(*map(_column, keys)).orderBy(*newest_first)
    number = "_pykafka_number"
    numbered = changes.withColumn(number, F.row_number().over(by_key))
    return numbered.where(F.col(number) == 1).drop(number)


def with_known_values(
    changes: DataFrame,
    keys: Sequence[str],
    columns: Sequence[str],
    topic_ids: Sequence[str] = (),
) -> DataFrame:
    """Values that the database did not send, from the change of the key before, if it has them.

    UNAVAILABLE then names the values that no change has; it is null if all are known. A deleted
    row has no values to keep.
    """
    before = (
        Window.partitionBy(*map(_column, keys))
        .orderBy(*in_order(topic_ids))
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    others = [each for each in columns if each not in keys]
    known = {
        each: F.last(_known(each), ignorenulls=True).over(before).alias(_holder(number))
        for number, each in enumerate(others)
    }
    held = changes.select("*", *known.values())
    values = {
        each: _held_value(each, F.col(_holder(number))).alias(each)
        for number, each in enumerate(others)
    }
    unknown = F.array_compact(
        F.array(
            *(
                F.when(F.col(_holder(number)).isNull(), F.lit(each))
                for number, each in enumerate(others)
            )
        )
    )
    kept = [_column(each) for each in changes.columns if each not in values and each != UNAVAILABLE]
    # Null for most: a column that can be null is one for Spark in an outer join, too.
    some = F.when(F.size(unknown) > 0, unknown)
    return held.select(*kept, *values.values(), some.alias(UNAVAILABLE))


def _known(column: str) -> Column:
    """The value and whether the row is gone; null where the database did not send the value."""
    is_sent = ~F.coalesce(F.array_contains(F.col(UNAVAILABLE), column), F.lit(False))
    is_known = F.col(TOMBSTONE) | is_sent
    value = F.struct(F.col(TOMBSTONE).alias("gone"), _column(column).alias("value"))
    return F.when(is_known, value)


def _held_value(column: str, holder: Column) -> Column:
    fails = F.expr(failure(f"column {column} of the change of ", UNKNOWN, quoted(PLACE)))
    is_lost = holder["gone"] & ~F.col(TOMBSTONE)
    return F.when(is_lost, fails).otherwise(holder["value"])


def _holder(number: int) -> str:
    return f"_pykafka_known_{number}"


def _check_order(changes: DataFrame, arguments: Arguments, keys: Sequence[str]) -> None:
    """Check that the sequence orders the changes of each key."""
    by, sequence = [*map(_column, keys)], F.col(SEQUENCE)
    if arguments.sequence_by:
        by.append(sequence)
        compared = F.to_json(F.struct(*map(_column, _contents(changes))))
    else:
        if arguments.topic_ids:  # the changes of different topics are in order, too
            by.append(sequence[TOPIC_ID])
        compared = F.struct(*(sequence[each] for each in ("topic", TOPIC_ID, "partition")))
    groups = changes.groupBy(*by).agg(
        F.min(compared).alias("least"), F.max(compared).alias("most"), F.min(PLACE).alias("place")
    )
    found = groups.where("least <> most").select("place", "least", "most").take(1)
    if found:
        place, least, most = found[0]
        raise ChangeError(
            f"the change of {place}: {_disorder(arguments, least, most)}; nothing was applied"
        )


def _disorder(arguments: Arguments, least: Any, most: Any) -> str:
    if arguments.sequence_by:
        return (
            "the key has two different changes with this sequence: give `sequence_by` one more "
            'column that tells them apart, e.g. sequence_by=["source.lsn", "offset"]'
        )
    if least["topic"] == most["topic"] and least[TOPIC_ID] != most[TOPIC_ID]:
        return f"{RECREATED}{least[TOPIC_ID]}, {most[TOPIC_ID]}"
    return MOVED


def _contents(changes: DataFrame) -> list[str]:
    return [each for each in changes.columns if each != PLACE]


def _delete_condition(rows: DataFrame, arguments: Arguments) -> str:
    if arguments.delete is not None:
        return arguments.delete
    op = arguments.prefix + _OP
    if op not in rows.columns:
        raise ChangeError(
            f"the rows have no column {op}, which marks deletes: read the topic with the option "
            "envelope, or give `delete`, a condition such as \"kind = 'deleted'\""
        )
    others = ", ".join(text(each) for each in _OPERATIONS if each != _DELETE)
    op = quoted(op)
    return f"CASE WHEN {op} = {text(_DELETE)} THEN true WHEN {op} IN ({others}) THEN false END"


def _no_operation(arguments: Arguments) -> str:
    if arguments.delete is not None:
        return "`delete` is null, neither true nor false"
    return (
        f"op is not one of {', '.join(_OPERATIONS)}: filter other events out before, e.g. truncates"
    )


def _sequence(rows: DataFrame, arguments: Arguments) -> Column:
    if len(arguments.sequence_by) == 1:
        return F.expr(arguments.sequence_by[0])
    if arguments.sequence_by:
        return F.struct(
            *(
                F.expr(each).alias(_field(each, number))
                for number, each in enumerate(arguments.sequence_by)
            )
        )
    position = {each: arguments.prefix + each for each in (*POSITION, TOPIC_ID)}
    missing = [each for each in position.values() if each not in rows.columns]
    if missing:
        raise ChangeError(
            f"the rows have no column {', '.join(missing)}, which gives the order of changes: keep "
            "topic, partition, offset and topicId (option includeTopicId), or give `sequence_by`"
        )
    return F.struct(*(_column(given).alias(name) for name, given in position.items()))


def _sequence_parts(changes: DataFrame, arguments: Arguments) -> list[Column]:
    """The parts of the sequence that may not be null; brokers before Kafka 2.8 give no ids."""
    sequence = F.col(SEQUENCE)
    if not arguments.sequence_by:
        return [sequence[each] for each in POSITION]
    type_ = changes.schema[SEQUENCE].dataType
    names = type_.names if isinstance(type_, T.StructType) else []
    return [sequence, *(sequence[each] for each in names)]


def _field(expression: str, number: int) -> str:
    """The name of an expression's field of the sequence: `source.lsn` -> `source_lsn`."""
    is_column = re.fullmatch(r"[\w.]+", expression)
    return expression.replace(".", "_") if is_column else f"by_{number}"


def _time(rows: DataFrame, arguments: Arguments) -> Column:
    if arguments.time is not None:
        return F.expr(arguments.time)
    for name in _TIMES:
        path = f"{arguments.prefix}{name}".split(".")
        type_ = _type_of(rows, path)
        if type_ is not None:
            column = F.col(".".join(map(quoted, path)))
            return F.timestamp_millis(column) if type_ == "bigint" else column
    raise ChangeError(
        f"the rows have no time of changes: neither of {', '.join(_TIMES)}; give an expression, "
        'e.g. history="changed_at"'
    )


def _place(rows: DataFrame, arguments: Arguments) -> Column:
    position = [arguments.prefix + each for each in POSITION]
    if not all(each in rows.columns for each in position):
        return F.lit("a row without topic, partition and offset")
    topic, partition, offset = map(_column, position)
    place = F.concat(topic, F.lit("-"), partition, F.lit(" at offset "), offset)
    return F.coalesce(place, F.lit("a row with a null position"))


def _type_of(rows: DataFrame, path: Sequence[str]) -> str | None:
    """The type of a column or of a field in one; None if rows have no such."""
    type_: T.DataType = rows.schema
    for name in path:
        if not isinstance(type_, T.StructType) or name not in type_.names:
            return None
        type_ = type_[name].dataType
    return type_.simpleString()


def _column(name: str) -> Column:
    return F.col(quoted(name))


def _unless(condition: Column, value: Column) -> Column:
    return F.when(~condition, value)


def _any_null(columns: Sequence[Column]) -> Column:
    found = F.lit(False)
    for each in columns:
        found |= each.isNull()
    return found
