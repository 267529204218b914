"""Arrow tables as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tests.endurance.torture.expected import BLANK
from tests.endurance.torture.rows import Row


def rows_of(table: pa.Table) -> list[Row]:
    """The rows of a table with some of the source's columns, in its order."""
    names = {*table.schema.names}
    columns = [
        _column(table, name) if name in names else [blank] * table.num_rows
        for name, blank in zip(_NAMES, BLANK, strict=True)
    ]
    return [*map(Row, *columns)]


# In the order of Row.
_NAMES = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers")


def _column(table: pa.Table, name: str) -> list[Any]:
    column = table[name]
    if name == "timestamp":
        return _milliseconds(column)
    if name == "headers":
        return [_headers(each) for each in column.to_pylist()]
    if name in {"key", "value"}:  # text may be none
        column = column.cast(pa.binary())
    values: list[Any] = column.to_pylist()
    return values


def _milliseconds(column: pa.ChunkedArray) -> list[int]:
    micros = column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    for each in micros:
        assert each % 1_000 == 0, f"Kafka has whole milliseconds, not {each} us"
    return [each // 1_000 for each in micros]


def _headers(pairs: Sequence[Any] | None) -> tuple[tuple[str, bytes | None], ...]:
    """Headers of a list of structs; those of a map by name: Spark's memory sink keeps no order."""
    if all(isinstance(each, dict) for each in pairs or ()):
        return tuple((each["key"], each["value"]) for each in pairs or ())
    return tuple(sorted(pairs or ()))


def groups_of(table: pa.Table, group: str) -> list[list[Row]]:
    """The rows by a column that numbers what gave them, each in the table's order."""
    groups: dict[int, list[Row]] = {}
    for number, row in zip(table[group].to_pylist(), rows_of(table), strict=True):
        groups.setdefault(number, []).append(row)
    return [*groups.values()]
