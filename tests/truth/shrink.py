"""Makes the scenario of a failure small: tries smaller ones, and keeps each that still fails. Pure.

A scenario is data, and its kind knows which scenarios are a step smaller. Whether one fails is
found out elsewhere, one by one or for many in one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

T = TypeVar("T")

First: TypeAlias = Callable[[Sequence[T]], int | None]
"""Finds the place of a scenario that still fails; None if there is none, or if that is enough."""


def shrink(scenario: T, smaller: Callable[[T], Iterable[T]], first: First[T]) -> T:
    """The smallest scenario that was found.

    The smaller ones are tried in a circle: after a success the search goes on where it was, so
    that what could not be left out is tried again last.
    """
    at = 0
    while True:
        candidates = [*smaller(scenario)]
        at = at if at < len(candidates) else 0
        circle = candidates[at:] + candidates[:at]
        found = first(circle)
        if found is None:
            return scenario
        scenario, at = circle[found], (at + found) % len(candidates)


def one_by_one(fails: Callable[[T], bool], most_runs: int) -> First[T]:
    """Runs scenarios one after the other, so many in all."""
    left = most_runs

    def first(candidates: Sequence[T]) -> int | None:
        nonlocal left
        for place, each in enumerate(candidates):
            if left == 0:
                break
            left -= 1
            if fails(each):
                return place
        return None

    return first


def fewer(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """None of the items; then all without a half, without a quarter, down to single items."""
    kept = tuple(items)
    size = len(kept)
    while size:
        for start in range(0, len(kept), size):
            yield kept[:start] + kept[start + size :]
        size //= 2
