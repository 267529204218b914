"""Compares copies with their source. Pure.

Items are what the comparison needs to tell records of one partition apart, such as values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

T = TypeVar("T", bound=Hashable)

_WORDS: Final = {"behind": "missing at the end"}
_SHOWN: Final = 5


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


class Differences(NamedTuple):
    """The items that `Findings` counts, of one partition, in the order of source or copy."""

    behind: Sequence[Any] = ()
    lost: Sequence[Any] = ()
    twice: Sequence[Any] = ()
    reordered: Sequence[Any] = ()
    unknown: Sequence[Any] = ()

    @property
    def findings(self) -> Findings:
        """How many there are of each."""
        return Findings(*map(len, self))


def compare(source: Sequence[T], copy: Iterable[T]) -> Differences:
    """The differences of one partition; the items of the source are unique."""
    positions = {item: position for position, item in enumerate(source)}
    seen: set[int] = set()
    last = -1
    twice, reordered, unknown = [], [], []
    for item in copy:
        position = positions.get(item)
        if position is None:
            unknown.append(item)
        elif position in seen:
            twice.append(item)
        else:
            if position < last:
                reordered.append(item)
            seen.add(position)
            last = max(last, position)
    lost = [source[position] for position in range(last + 1) if position not in seen]
    return Differences(source[last + 1 :], lost, twice, reordered, unknown)


def compare_all(
    source: Mapping[Any, Sequence[Any]],
    copy: Mapping[Any, Sequence[Any]],
    compare_one: Callable[[Sequence[Any], Sequence[Any]], Differences] = compare,
) -> dict[Any, Differences]:
    """The differences of each partition that one of them has."""
    partitions = sorted({*source, *copy})
    return {each: compare_one(source.get(each, []), copy.get(each, [])) for each in partitions}


def numbered(items: Iterable[T]) -> list[tuple[T, int]]:
    """Makes items unique, for a source whose writer wrote some of them more than once."""
    counts: Counter[T] = Counter()
    unique = []
    for item in items:
        unique.append((item, counts[item]))
        counts[item] += 1
    return unique


def complaints(
    name: str, found: Mapping[Any, Differences], allowed: Collection[str] = ()
) -> list[str]:
    """A sentence for each partition and each kind of difference that is not allowed.

    Args:
        name: The copy.
        found: Its differences, by partition.
        allowed: Names of the fields of `Differences` that are no fault here.
    """
    return [
        f"{name}, partition {partition}: {len(items)} {_WORDS.get(kind, kind)}, "
        f"as {', '.join(map(repr, first))}"
        for partition, differences in found.items()
        for kind, items in differences._asdict().items()
        if kind not in allowed and (first := [*islice(items, _SHOWN)])
    ]
