"""Which updates give a row another key, and of which that is not known.

Debezium writes an update of the record's key as a delete and an insert. An update of other columns
is one event, which has the row before the update only with a column `before`. If the table has no
primary key, or the record's key has other columns than `keys`, such an update may change the key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql import types as T

from kafka_spark_source.changes.arguments import BEFORE, Arguments, ChangeError
from kafka_spark_source.changes.expressions import any_of, field_of, fields_of, quoted_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

OP: Final = "op"
"""The column of the envelope with the operation of a change."""
UNTOLD: Final = "_pykafka_untold"
"""Whether the update may change the key, and the event does not have the old key."""
HAS_OTHER: Final = "_pykafka_has_other"
"""Whether the row before the change has another key."""
IS_BEFORE: Final = "_pykafka_is_before"
"""Whether the change deletes the row of the key before."""

_KEY: Final = "key"
_UPDATE: Final = "u"


def before_of(rows: DataFrame, arguments: Arguments) -> str | None:
    """The column with the row before a change; None if rows have none.

    A column of this name that is not a struct is the table's, and so is one that `columns` names.

    Raises:
        ChangeError: It lacks a column of the key, or has it with another type.
    """
    column = arguments.prefix + BEFORE
    fields = {} if _is_of_table(column, arguments) else fields_of(rows, column)
    if not fields:
        return None
    types = {each.name.lower(): each.dataType for each in rows.schema}
    for key in arguments.keys:
        there, wanted = fields.get(key.lower()), types.get(key.lower())
        if wanted is None or there == wanted:
            continue  # a key that rows lack is another error
        lacks = "has no field" if there is None else f"has the type {there.simpleString()} for"
        raise ChangeError(
            f"the column {column}, the row before a change, {lacks} {key}, which is "
            f"{wanted.simpleString()} in the rows: read or rename both alike, drop the column, or "
            "name it in `columns` if it is one of the table"
        )
    return column


def with_old_keys(
    rows: DataFrame, arguments: Arguments, keys: Sequence[str], deleted: Column
) -> DataFrame:
    """The rows with UNTOLD, HAS_OTHER and IS_BEFORE; a row with another key before is there twice.

    Args:
        rows: A micro-batch.
        arguments: The arguments of `apply_changes`.
        keys: The columns of the key.
        deleted: Whether a row is a delete.
    """
    op = arguments.prefix + OP
    is_update = quoted_column(op) == _UPDATE if op in rows.columns else F.lit(False)
    before = before_of(rows, arguments)
    if before is None:
        untold = is_update & _lacks_key(rows, arguments, keys)
        return rows.withColumns(
            {UNTOLD: _is_true(untold), HAS_OTHER: F.lit(False), IS_BEFORE: F.lit(False)}
        )
    # The key in `before` may be a filler if the record's key has it.
    is_open = ~_is_told(rows, arguments, keys)
    differs = [field_of(before, each) != quoted_column(each) for each in keys]
    has_other = _is_true(~deleted & is_open & _is_true(any_of(differs)))
    is_null = any_of(field_of(before, each).isNull() for each in keys)
    both = F.array(F.lit(True), F.lit(False))
    return rows.withColumns(
        {
            UNTOLD: _is_true(is_open & is_null & (is_update | has_other)),
            HAS_OTHER: has_other,
            IS_BEFORE: F.explode(F.when(has_other, both).otherwise(F.array(F.lit(False)))),
        }
    )


def key_of(key: str, before: str | None) -> Column:
    """A column of the key: of the row before where IS_BEFORE."""
    column = quoted_column(key)
    if before is None:
        return column
    return F.when(F.col(IS_BEFORE), field_of(before, key)).otherwise(column)


def _is_told(rows: DataFrame, arguments: Arguments, keys: Sequence[str]) -> Column:
    """Whether the record's key has the columns of the key.

    If their values differ, they are other columns, which a selection has renamed.
    """
    key = arguments.prefix + _KEY
    fields = fields_of(rows, key)
    if _is_of_table(key, arguments) or not {each.lower() for each in keys} <= fields.keys():
        return F.lit(False)
    is_other = [
        _differ(field_of(key, each), fields[each.lower()], quoted_column(each), rows.schema[each])
        for each in keys
    ]
    is_null = [field_of(key, each).isNull() for each in keys]
    return ~_is_true(any_of([*is_null, *is_other]))


def _differ(one: Column, type_: T.DataType, other: Column, field: T.StructField) -> Column:
    """Whether two values differ; of different types, which two DDLs may name, as texts."""
    types = (type_, field.dataType)
    is_comparable = type_.simpleString() == field.dataType.simpleString() or all(
        isinstance(each, T.NumericType) for each in types
    )
    return one != other if is_comparable else one.cast("string") != other.cast("string")


def _lacks_key(rows: DataFrame, arguments: Arguments, keys: Sequence[str]) -> Column:
    """Whether the record's key is known not to have the columns of the key.

    It has not if it has another column of the rows. Without a column `key` that is not known, nor
    of bytes, nor of fields that the rows do not have, as after a selection that gives columns other
    names.
    """
    key = arguments.prefix + _KEY
    if key not in rows.columns or _is_of_table(key, arguments):
        return F.lit(False)
    fields = fields_of(rows, key).keys()
    wanted = {each.lower() for each in keys}
    columns = {each.lower() for each in rows.columns}
    if wanted <= fields or (fields and fields <= columns) or fields & (columns - wanted):
        return ~_is_told(rows, arguments, keys)
    return quoted_column(key).isNull()


def _is_of_table(column: str, arguments: Arguments) -> bool:
    return column.lower() in {each.lower() for each in arguments.named}


def _is_true(condition: Column) -> Column:
    return F.coalesce(condition, F.lit(False))
