"""The first difference between the rows that were expected and those found. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tests.endurance.torture.rows import Row


class Difference(NamedTuple):
    """The first row that differs.

    Attributes:
        what: `missing`, `extra`, `twice`, `altered` or `order`.
        expected: The expected row at this place; None for `extra` and `twice`.
        found: The row found at this place; None for `missing`.
    """

    what: str
    expected: Row | None
    found: Row | None

    @property
    def text(self) -> str:
        """A sentence with both rows; long keys and values are shown by length and CRC."""
        raise NotImplementedError


def first_difference(expected: Sequence[Row], found: Sequence[Row]) -> Difference | None:
    """The first difference, partition by partition; None if there is none.

    Only the order within a partition counts. A column that a query did not read must have the same
    neutral value on both sides (`None`, `-1`, `""` or `()`). Without topic and partition, sort both
    sides first.
    """
    raise NotImplementedError
