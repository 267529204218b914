"""Filters of a query: as SQL for Spark, and as a function of a row for the expected rows. Pure."""

from __future__ import annotations

from typing import Any

from tests.endurance.torture.rows import Row
from tests.truth import filters
from tests.truth.filters import OF_NULLS, Filter


def sql_of(each: Filter) -> str:
    """The condition for Spark; the column `length` is that of the value in bytes."""
    column = {"length": "length(value)"}.get(each.column, each.column)
    if each.operator in OF_NULLS:
        return f"{column} {each.operator}"
    if each.operator != "IN":
        return f"{column} {each.operator} {_literal(each.column, each.value)}"
    return f"{column} IN ({', '.join(_literal(each.column, value) for value in each.value)})"


def holds(each: Filter, row: Row) -> bool:
    """Whether Spark keeps the row."""
    if each.column == "length":
        return filters.holds(each, None if row.value is None else len(row.value))
    return filters.holds(each, getattr(row, each.column))


def _literal(column: str, value: Any) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        return f"'{value}'"
    return f"timestamp_millis({value})" if column == "timestamp" else f"{value}"
