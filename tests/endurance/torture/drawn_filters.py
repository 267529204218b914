"""Draws the filters of a query, each about a row that is there. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

from tests.endurance.torture.rows import Row
from tests.truth.filters import Filter

_COMPARISONS: Final = ("=", "=", "<>", "<", ">=", "<=>")
_ORDERS: Final = ("<", "<=", ">", ">=")
_AMONG: Final = 0.4
# Spark parses the literal of a larger one, but its plan then is as large.
_LARGEST_LITERAL: Final = 2_000


class _Column(NamedTuple):
    """What a filter on a column can be.

    Attributes:
        value: Of a row.
        another: Draws one for `IN` beside that; None for no `IN`.
    """

    operators: Sequence[str]
    value: Callable[[Row], Any]
    another: Callable[[random.Random, Row], Any] | None = None


_COLUMNS: Final[Mapping[str, _Column]] = {
    "partition": _Column(
        _COMPARISONS, lambda row: row.partition, lambda chance, row: chance.randint(0, 5)
    ),
    "offset": _Column(
        _ORDERS + _COMPARISONS,
        lambda row: row.offset,
        lambda chance, row: row.offset + chance.randint(1, 50),
    ),
    "timestamp": _Column(_ORDERS, lambda row: row.timestamp),
    "topic": _Column(_COMPARISONS, lambda row: row.topic, lambda chance, row: "none"),
    "key": _Column(_COMPARISONS, lambda row: row.key),
    "value": _Column(_COMPARISONS, lambda row: row.value),
    "length": _Column(_ORDERS, lambda row: len(row.value or b"")),
}


def draw_filters(chance: random.Random, rows: Sequence[Row], known: Set[str]) -> tuple[Filter, ...]:
    """Filters on known columns; none in some of the queries, and where there are no rows."""
    if not rows or chance.random() < 0.4:
        return ()
    columns = [name for name in _COLUMNS if {"length": "value"}.get(name, name) in known]
    chosen = chance.sample(columns, min(len(columns), chance.choice((1, 1, 2, 3))))
    return tuple(_drawn(chance, name, chance.choice(rows)) for name in chosen)


def _drawn(chance: random.Random, name: str, row: Row) -> Filter:
    column = _COLUMNS[name]
    value = column.value(row)
    if value is None or (isinstance(value, bytes) and len(value) > _LARGEST_LITERAL):
        return Filter(name, chance.choice(("IS NULL", "IS NOT NULL")))
    if column.another and chance.random() < _AMONG:
        return Filter(name, "IN", tuple(sorted({value, column.another(chance, row)})))
    return Filter(name, chance.choice(column.operators), value)
