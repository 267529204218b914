"""Draws the filters of a query, each about a row that is there. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Final

from tests.endurance.torture.rows import Row
from tests.truth.filters import Filter


def draw_filters(chance: random.Random, rows: Sequence[Row], known: Set[str]) -> tuple[Filter, ...]:
    """Filters on known columns; none in some of the queries, and where there are no rows."""
    if not rows or chance.random() < 0.4:
        return ()
    kinds = [name for name in _FILTERS if {"length": "value"}.get(name, name) in known]
    chosen = chance.sample(kinds, min(len(kinds), chance.choice((1, 1, 2, 3))))
    return tuple(_FILTERS[name](chance, chance.choice(rows)) for name in chosen)


def _on_partition(chance: random.Random, row: Row) -> Filter:
    among = tuple(sorted({row.partition, chance.randint(0, 5)}))
    return chance.choice(
        (
            Filter("partition", chance.choice(_COMPARISONS), row.partition),
            Filter("partition", "IN", among),
        )
    )


def _on_offset(chance: random.Random, row: Row) -> Filter:
    among = tuple(sorted({row.offset, row.offset + chance.randint(1, 50)}))
    return chance.choice(
        (
            Filter("offset", chance.choice(_ORDERS), row.offset),
            Filter("offset", chance.choice(_COMPARISONS), row.offset),
            Filter("offset", "IN", among),
        )
    )


def _on_timestamp(chance: random.Random, row: Row) -> Filter:
    return Filter("timestamp", chance.choice(_ORDERS), row.timestamp)


def _on_topic(chance: random.Random, row: Row) -> Filter:
    return chance.choice(
        (
            Filter("topic", chance.choice(_COMPARISONS), row.topic),
            Filter("topic", "IN", (row.topic, "none")),
        )
    )


# Spark parses the literal of a larger one, but its plan then is as large.
_LARGEST_LITERAL: Final = 2_000


def _on_key(chance: random.Random, row: Row) -> Filter:
    if row.key is None or len(row.key) > _LARGEST_LITERAL:
        return Filter("key", chance.choice(("IS NULL", "IS NOT NULL")))
    return Filter("key", chance.choice(_COMPARISONS), row.key)


def _on_value(chance: random.Random, row: Row) -> Filter:
    if row.value is None or len(row.value) > _LARGEST_LITERAL:
        return Filter("value", chance.choice(("IS NULL", "IS NOT NULL")))
    return Filter("value", chance.choice(_COMPARISONS), row.value)


def _on_length(chance: random.Random, row: Row) -> Filter:
    return Filter("length", chance.choice(_ORDERS), len(row.value or b""))


_COMPARISONS: Final = ("=", "=", "<>", "<", ">=", "<=>")
_ORDERS: Final = ("<", "<=", ">", ">=")
_FILTERS: Final[Mapping[str, Callable[[random.Random, Row], Filter]]] = {
    "partition": _on_partition,
    "offset": _on_offset,
    "timestamp": _on_timestamp,
    "topic": _on_topic,
    "key": _on_key,
    "value": _on_value,
    "length": _on_length,
}
