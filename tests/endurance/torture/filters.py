"""Filters of a query: as SQL for Spark, and as a function of a row for the expected rows. Pure."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tests.endurance.torture.rows import Row

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<=>": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "IN": lambda value, among: value in among,
}
_OF_NULLS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "IS NULL": lambda value: value is None,
    "IS NOT NULL": lambda value: value is not None,
}


class Filter(NamedTuple):
    """`column operator value`; for IN the value is a tuple, for IS NULL it does not count.

    The column `length` is that of the value in bytes.
    """

    column: str
    operator: str
    value: Any = None

    @property
    def sql(self) -> str:
        """The condition for Spark."""
        column = {"length": "length(value)"}.get(self.column, self.column)
        if self.operator in _OF_NULLS:
            return f"{column} {self.operator}"
        return f"{column} {self.operator} {self._literals()}"

    def _literals(self) -> str:
        if self.operator == "IN":
            return f"({', '.join(_literal(self.column, each) for each in self.value)})"
        return _literal(self.column, self.value)

    def holds(self, row: Row) -> bool:
        """Whether Spark keeps the row; a comparison with null does not hold."""
        value = _value(row, self.column)
        if self.operator in _OF_NULLS:
            return _OF_NULLS[self.operator](value)
        if value is None:
            return False
        return _COMPARE[self.operator](value, self.value)


def _value(row: Row, column: str) -> Any:
    if column == "length":
        return None if row.value is None else len(row.value)
    return getattr(row, column)


def _literal(column: str, value: Any) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        return f"'{value}'"
    return f"timestamp_millis({value})" if column == "timestamp" else f"{value}"
