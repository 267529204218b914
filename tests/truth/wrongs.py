"""Copies with one fault each, for the tests of judges: each must see each of them. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

Items = Sequence[Any]
Change = Callable[[Any], Any]
Wrong = Callable[[random.Random, Items, Change], Items]


def _lost(chance: random.Random, items: Items, _change: Change) -> Items:
    at = chance.randrange(len(items) - 1)
    return [*items[:at], *items[at + 1 :]]


def _behind(chance: random.Random, items: Items, _change: Change) -> Items:
    return items[: chance.randrange(len(items))]


def _twice(chance: random.Random, items: Items, _change: Change) -> Items:
    at = chance.randrange(len(items))
    again = chance.randint(at + 1, len(items))
    return [*items[:again], items[at], *items[again:]]


def _reordered(chance: random.Random, items: Items, _change: Change) -> Items:
    one, two = sorted(chance.sample(range(len(items)), 2))
    return [*items[:one], *items[one + 1 : two + 1], items[one], *items[two + 1 :]]


def _changed(chance: random.Random, items: Items, change: Change) -> Items:
    at = chance.randrange(len(items))
    return [*items[:at], change(items[at]), *items[at + 1 :]]


def _unknown(chance: random.Random, items: Items, change: Change) -> Items:
    at = chance.randint(0, len(items))
    return [*items[:at], change(items[at - 1]), *items[at:]]


WRONGS: Final[Mapping[str, Wrong]] = {
    "lost": _lost,
    "behind": _behind,
    "twice": _twice,
    "reordered": _reordered,
    "unknown": _unknown,
    "altered": _changed,
}
"""Kind of difference -> makes a copy of two or more items that differs so, and not otherwise.

The last argument changes an item: for `unknown` its identity, for `altered` the rest of it.
"""
