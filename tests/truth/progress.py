"""How long copies stood still while there was something to copy. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple


class Sample(NamedTuple):
    """How many different records each copy had, and the source, at a time."""

    seconds: float
    source: int
    copies: Mapping[str, int]


def standstill(all_samples: Sequence[Sample], begin: float) -> float:
    """The longest time from `begin` on in which a copy got nothing, while the source had more."""
    samples = [sample for sample in all_samples if sample.seconds >= begin]
    longest = 0.0
    for name in samples[0].copies if samples else ():
        since = samples[0].seconds
        for before, after in pairwise(samples):
            if before.copies[name] >= before.source:
                since = before.seconds
            longest = max(longest, after.seconds - since)
            if after.copies[name] > before.copies[name]:
                since = after.seconds
    return longest
