"""What a filter of a query keeps, as Spark understands it. Pure."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

Comparison = Callable[[Any, Any], bool]

_BY_CLASS: Final[Mapping[str, Comparison]] = {
    "EqualTo": operator.eq,
    "EqualNullSafe": operator.eq,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
    "In": lambda value, among: value in among,
}
_BY_SQL: Final[Mapping[str, Comparison]] = {
    "=": operator.eq,
    "<=>": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "IN": lambda value, among: value in among,
}
COMPARISONS: Final = {**_BY_CLASS, **_BY_SQL}
OF_NULLS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "IS NULL": lambda value: value is None,
    "IS NOT NULL": lambda value: value is not None,
}


class Filter(NamedTuple):
    """`column operator value`; for IN the value is a tuple, for IS NULL it does not count.

    Attributes:
        operator: The name of a class of Spark's filters, or an operator of SQL. The other side of
            `<=>` and `EqualNullSafe` is never null here.
    """

    column: str
    operator: str
    value: Any = None


def holds(wanted: Filter, value: Any) -> bool:
    """Whether Spark keeps a row with this value in the column; a comparison with null is false."""
    if wanted.operator in OF_NULLS:
        return OF_NULLS[wanted.operator](value)
    return value is not None and COMPARISONS[wanted.operator](value, wanted.value)
