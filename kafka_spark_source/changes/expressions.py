"""Columns of Spark by their names, and conditions on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from kafka_spark_source.changes.sql import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame


def quoted_column(name: str) -> Column:
    """A column by its name, whatever characters that has."""
    return F.col(quoted(name))


def field_of(column: str, field: str) -> Column:
    """A field of a column that is a struct."""
    return F.col(f"{quoted(column)}.{quoted(field)}")


def any_of(conditions: Iterable[Column]) -> Column:
    """Whether one of the conditions holds; false without any."""
    any_holds = F.lit(False)
    for each in conditions:
        any_holds |= each
    return any_holds


def fields_of(rows: DataFrame, name: str) -> dict[str, T.DataType]:
    """The types of the fields of a column, by names in lower case; none if it is not a struct."""
    type_ = rows.schema[name].dataType if name in rows.columns else None
    fields = [*type_] if isinstance(type_, T.StructType) else []
    return {each.name.lower(): each.dataType for each in fields}
