"""The rows of a micro-batch as changes.

A change has the table's columns, its sequence, its place in Kafka, and whether it deletes the row.
An update that changes the key is two changes (`old_keys`): the row of the key before it is deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql import types as T

from kafka_spark_source.changes.arguments import (
    AT,
    BEFORE,
    PLACE,
    POSITION,
    SEQUENCE,
    TOMBSTONE,
    TOPIC_ID,
    UNAVAILABLE,
    VALID_FROM,
    Arguments,
    ChangeError,
    table_columns,
    usual_names,
)
from kafka_spark_source.changes.expressions import fields_of, quoted_column
from kafka_spark_source.changes.old_keys import (
    HAS_OTHER,
    IS_BEFORE,
    OP,
    UNTOLD,
    before_of,
    key_of,
    with_old_keys,
)
from kafka_spark_source.changes.order import POSITION_TYPE, Change, TextPart
from kafka_spark_source.changes.sequence import struct_of
from kafka_spark_source.changes.sql import quoted, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

CREATED: Final = "_pykafka_created"
"""In changes with UNAVAILABLE: whether the change may give a row a new key."""
SOURCE: Final = "_pykafka_source"
"""In changes with UNAVAILABLE: the place of the change in the database; null if it is not known.

The delete of a row's old key and the insert with its new one have the same.
"""

OPERATIONS: Final = ("c", "u", "r", "d")
_DELETE: Final = "d"
_CREATE: Final = "c"
# The time of a change, where rows have one: in the database, of Debezium, of the record.
_TIMES: Final = ("source.ts_ms", "ts_ms", "timestamp")
# Fields of `source` that differ for each change; the time does not.
_LOG_POSITIONS: Final = ("lsn", "pos", "scn", "change_lsn")


def with_usual_names(rows: DataFrame, arguments: Arguments) -> DataFrame:
    """The rows, with the columns of the envelope and of reads named as usual, also by case.

    A column `before` that is not a struct is one of the table, and keeps its name.
    """
    before = arguments.prefix + BEFORE
    names = usual_names(arguments, rows.columns)
    kept = {each: name for each, name in names.items() if name != before or fields_of(rows, each)}
    return rows.withColumnsRenamed(kept) if kept else rows


def columns_of(rows: DataFrame, arguments: Arguments) -> tuple[str, ...]:
    """The columns of the table, keys first.

    Raises:
        ChangeError: The rows lack one, as `table_columns` says, or as from `before_of`.
    """
    before = before_of(rows, arguments)
    return table_columns(arguments, rows.columns, [] if before is None else [before])


def changes_of(rows: DataFrame, arguments: Arguments, columns: Sequence[str]) -> DataFrame:
    """The rows as changes. A delete has nulls except in the keys.

    Args:
        rows: A micro-batch.
        arguments: The arguments of `apply_changes`.
        columns: The columns of the table, keys first.

    Raises:
        ChangeError: The rows lack a column for the operation, the sequence or the time.
    """
    keys = columns[: len(arguments.keys)]
    deleted = F.expr(_delete_condition(rows, arguments))
    before = before_of(rows, arguments)
    rows = with_old_keys(rows, arguments, keys, deleted)
    is_gone = deleted | F.col(IS_BEFORE)
    values = {
        each: key_of(each, before) if each in keys else F.when(~is_gone, quoted_column(each))
        for each in columns
    }
    more = [_position(rows, arguments).alias(AT)] if arguments.sequence_by else []
    more += _unavailable(rows, arguments) if UNAVAILABLE in rows.columns else []
    more += [_time(rows, arguments).alias(VALID_FROM)] if arguments.history else []
    return rows.select(
        *(value.alias(name) for name, value in values.items()),
        _sequence(rows, arguments).alias(SEQUENCE),
        is_gone.alias(TOMBSTONE),
        _place(rows, arguments).alias(PLACE),
        UNTOLD,
        *more,
    )


def change_at(arguments: Arguments, within: str = "") -> Change:
    """The expressions for a change; `within` is before the names of columns, such as `s.`."""
    sequence = f"{within}{quoted(SEQUENCE)}"
    position = f"{within}{quoted(AT)}" if arguments.sequence_by else sequence
    return Change(sequence, position, f"{within}{quoted(PLACE)}")


def text_parts(sequence: T.DataType) -> list[TextPart]:
    """The texts in a sequence of the user's, with the fields before them."""
    if isinstance(sequence, T.StringType):
        return [("",)]
    fields = [*sequence] if isinstance(sequence, T.StructType) else []
    names = [f".{quoted(each.name)}" for each in fields]
    return [
        (*names[:number], names[number])
        for number, each in enumerate(fields)
        if isinstance(each.dataType, T.StringType)
    ]


def _delete_condition(rows: DataFrame, arguments: Arguments) -> str:
    if arguments.delete is not None:
        return arguments.delete
    op = arguments.prefix + OP
    if op not in rows.columns:
        raise ChangeError(
            f"the rows have no column {op}, which marks deletes: read the topic with the option "
            "envelope, or give `delete`, a condition such as \"kind = 'deleted'\""
        )
    others = ", ".join(text(each) for each in OPERATIONS if each != _DELETE)
    op = quoted(op)
    return f"CASE WHEN {op} = {text(_DELETE)} THEN true WHEN {op} IN ({others}) THEN false END"


def _unavailable(rows: DataFrame, arguments: Arguments) -> list[Column]:
    """The columns that the database did not send, and how a change of the key is found."""
    op = arguments.prefix + OP
    created = F.col(quoted(op)) == _CREATE if op in rows.columns else F.lit(False)
    created |= F.col(HAS_OTHER)
    fields = fields_of(rows, f"{arguments.prefix}source")
    source = F.lit(None).cast("string")
    if not fields.keys().isdisjoint(_LOG_POSITIONS):
        source = F.to_json(quoted_column(f"{arguments.prefix}source"))
        if has_position(rows, arguments):  # several databases may have equal positions
            source = F.concat_ws(" ", quoted_column(f"{arguments.prefix}topic"), source)
    return [
        F.when(~F.col(IS_BEFORE), _as_columns(rows)).alias(UNAVAILABLE),
        F.coalesce(created & ~F.col(IS_BEFORE), F.lit(False)).alias(CREATED),
        source.alias(SOURCE),
    ]


def _as_columns(rows: DataFrame) -> Column:
    """The names in UNAVAILABLE, in the case of the columns: a selection of rows may change it."""
    names = {each.lower(): each for each in rows.columns}
    spelled = F.create_map(*(F.lit(each) for pair in names.items() for each in pair))
    return F.transform(
        UNAVAILABLE, lambda name: F.coalesce(F.try_element_at(spelled, F.lower(name)), name)
    )


def _sequence(rows: DataFrame, arguments: Arguments) -> Column:
    if len(arguments.sequence_by) == 1:
        return F.expr(arguments.sequence_by[0])
    if arguments.sequence_by:
        return struct_of(arguments.sequence_by)
    position = {each: arguments.prefix + each for each in (*POSITION, TOPIC_ID)}
    missing = [each for each in position.values() if each not in rows.columns]
    if missing:
        raise ChangeError(
            f"the rows have no column {', '.join(missing)}, which gives the order of changes: keep "
            "topic, partition, offset and topicId (option includeTopicId), or give `sequence_by`"
        )
    return F.struct(*(quoted_column(given).alias(name) for name, given in position.items()))


def has_position(rows: DataFrame, arguments: Arguments) -> bool:
    """Whether rows have columns for their topic, partition and offset."""
    return {arguments.prefix + each for each in POSITION} <= {*rows.columns}


def _position(rows: DataFrame, arguments: Arguments) -> Column:
    if not has_position(rows, arguments):
        return F.lit(None).cast(POSITION_TYPE)
    parts = {each: quoted_column(arguments.prefix + each) for each in POSITION}
    topic_id = arguments.prefix + TOPIC_ID
    parts[TOPIC_ID] = quoted_column(topic_id) if topic_id in rows.columns else F.lit(None)
    time = [f"{arguments.prefix}source", "ts_ms"]
    has_time = _type_of(rows, time) in {"int", "bigint"}
    parts["ts_ms"] = F.col(".".join(map(quoted, time))) if has_time else F.lit(None)
    return F.struct(*(each.alias(name) for name, each in parts.items())).cast(POSITION_TYPE)


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
    topic, partition, offset = map(quoted_column, position)
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
