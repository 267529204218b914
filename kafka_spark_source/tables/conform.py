"""Expressions that give the rows of a topic the types of a table's columns. Pure.

`growth` was asked before: each value of the rows has a place in the table. Fields are put in the
table's order, values are cast to wider types, and lacking fields are null.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import types as T

from kafka_spark_source.changes.sql import quoted
from kafka_spark_source.tables.ddl import type_text


def conformed(rows: T.StructType, table: T.StructType, *, lacking: bool = True) -> Iterator[str]:
    """An expression for each column of the table, in its order.

    Args:
        rows: The columns of the rows.
        table: The columns of the table.
        lacking: Whether columns that the rows lack are there, as null.
    """
    given = {each.name.lower(): each for each in rows}
    for column in table:
        field = given.get(column.name.lower())
        if field is not None:
            value = _as(quoted(field.name), field.dataType, column.dataType, 0)
            yield f"{value} AS {quoted(column.name)}"
        elif lacking:
            yield f"{_null(column.dataType)} AS {quoted(column.name)}"


def _as(value: str, given: T.DataType, there: T.DataType, depth: int) -> str:
    """The value of an expression, with another type; `depth` counts the lambdas that it is in."""
    if type_text(given) == type_text(there):
        return value
    name = f"e{depth}"
    match given, there:
        case T.StructType(), T.StructType():
            return _as_struct(value, given, there, depth)
        case T.ArrayType(), T.ArrayType():
            inner = _as(name, given.elementType, there.elementType, depth + 1)
            return f"transform({value}, {name} -> {inner})"
        case T.MapType(), T.MapType():
            key = _as(f"{name}.key", given.keyType, there.keyType, depth + 1)
            inner = _as(f"{name}.value", given.valueType, there.valueType, depth + 1)
            entry = f"named_struct('key', {key}, 'value', {inner})"
            return f"map_from_entries(transform(map_entries({value}), {name} -> {entry}))"
    return f"CAST({value} AS {type_text(there)})"


def _as_struct(value: str, given: T.StructType, there: T.StructType, depth: int) -> str:
    known = {each.name.lower(): each for each in given}
    parts = []
    for field in there:
        ours = known.get(field.name.lower())
        if ours is None:
            inner = _null(field.dataType)
        else:
            inner = _as(f"{value}.{quoted(ours.name)}", ours.dataType, field.dataType, depth)
        parts.append(f"{inner} AS {quoted(field.name)}")
    return f"CASE WHEN {value} IS NOT NULL THEN struct({', '.join(parts)}) END"


def _null(type_: T.DataType) -> str:
    return f"CAST(NULL AS {type_text(type_)})"
