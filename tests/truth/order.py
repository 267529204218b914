"""Whether one reader gave the records of each partition by offset, each once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from tests.truth.delivery import Difference


class Placed(Protocol):
    """A row with the place of its record."""

    @property
    def topic(self) -> str:
        """The name of the topic."""

    @property
    def partition(self) -> int:
        """The number of the partition."""

    @property
    def offset(self) -> int:
        """The offset in the partition."""


def out_of_order(rows: Iterable[Placed]) -> Iterator[Difference]:
    """Rows that do not come after the row before them; `expected` is that one."""
    last: dict[tuple[str, int], Any] = {}
    for row in rows:
        place = row.topic, row.partition
        before = last.get(place)
        if before is not None and before.offset >= row.offset:
            kind = "twice" if before.offset == row.offset else "reordered"
            yield Difference(kind, before, row)
        last[place] = row
