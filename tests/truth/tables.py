"""Tables of the newest record of each key, as `envelope=upsert` makes them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, TypeVar

R = TypeVar("R")
"""A record, or the row that it became: with `offset` and `key`, where null is one as others."""


def newest(records: Iterable[R], key: Callable[[R], Hashable] = attrgetter("key")) -> list[R]:
    """The last record of each key, by offset; the records of one partition come by offset."""
    return sorted({key(each): each for each in records}.values(), key=attrgetter("offset"))


def lacking(
    must: Sequence[Any], may: Sequence[Any], passes: Callable[[Any], bool], rows: Iterable[Any]
) -> list[Any]:
    """Records that are the newest of their keys, pass the filters, and are not rows.

    Args:
        must: The records that the read had certainly in its range.
        may: These, and those that it may have had.
        passes: Whether the filters of the read keep a record.
        rows: What it gave.
    """
    last_that_may = {each.key: each.offset for each in may}
    found = {row.key for row in rows}
    return [
        each
        for each in newest(must)
        if each.key not in found and last_that_may[each.key] == each.offset and passes(each)
    ]


def wrong_rows(must: Iterable[Any], rows: Iterable[Any]) -> Iterator[str]:
    """Rows that are not of the newest record of their key, or one too many."""
    offsets = {each.key: each.offset for each in newest(must)}
    seen: set[bytes | None] = set()
    for row in rows:
        if row.offset < offsets.get(row.key, 0):
            yield f"the row at {row.offset} is older than the record at {offsets[row.key]}"
        if row.key in seen:
            yield f"the key of the row at {row.offset} has another row"
        seen.add(row.key)
