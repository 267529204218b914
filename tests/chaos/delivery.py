"""Compares copies with their source. Pure.

Items are what the comparison needs to tell records of one partition apart, such as values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T", bound=Hashable)


class Findings(NamedTuple):
    """How a copy differs from its source; a faultless and complete copy has zeros only.

    Attributes:
        behind: Items of the source after the last one that was copied.
        lost: Items of the source before the last one that was copied, which the copy lacks.
        twice: Items of the copy that it had already.
        reordered: Items of the copy that come for the first time, after a later one.
        unknown: Items that the source does not have.
    """

    behind: int = 0
    lost: int = 0
    twice: int = 0
    reordered: int = 0
    unknown: int = 0

    def __add__(self, other: object) -> Findings:
        if not isinstance(other, Findings):
            return NotImplemented
        return Findings(*(one + two for one, two in zip(self, other, strict=True)))


def compare(source: Sequence[T], copy: Iterable[T]) -> Findings:
    """The differences of one partition; the items of the source are unique."""
    positions = {item: position for position, item in enumerate(source)}
    seen: set[int] = set()
    last = -1
    twice = reordered = unknown = 0
    for item in copy:
        position = positions.get(item)
        if position is None:
            unknown += 1
        elif position in seen:
            twice += 1
        else:
            reordered += position < last
            seen.add(position)
            last = max(last, position)
    return Findings(len(source) - last - 1, last + 1 - len(seen), twice, reordered, unknown)


def numbered(items: Iterable[T]) -> list[tuple[T, int]]:
    """Makes items unique, for a source whose writer wrote some of them more than once."""
    counts: Counter[T] = Counter()
    unique = []
    for item in items:
        unique.append((item, counts[item]))
        counts[item] += 1
    return unique
