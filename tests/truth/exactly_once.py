"""Whether writes left their rows: at least once, or exactly once and as a whole. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple


class Write(NamedTuple):
    """A write of rows that no other write has; those with one prefix come one after the other.

    Attributes:
        is_once: Whether it is exactly once.
        is_done: Whether it was reported as done.
    """

    name: str
    rows: Sequence[Hashable]
    is_once: bool
    is_done: bool


def wrong_writes(writes: Sequence[Write], found: Iterable[Hashable]) -> Iterator[str]:
    """All that is wrong with what readers of committed records found.

    A write exactly once that failed may be visible in part until the next one with its prefix.
    """
    counts = Counter(found)
    done_once = [n for n, each in enumerate(writes) if each.is_once and each.is_done]
    for number, write in enumerate(writes):
        times = [counts.pop(row, 0) for row in write.rows]
        if not write.is_once and write.is_done and not all(times):
            yield f"{write.name}: {times.count(0)} of {len(times)} rows are not written"
        if write.is_once and write.is_done and any(each != 1 for each in times):
            yield f"{write.name}: rows are written {sorted({*times})} times, and not once"
        if write.is_once and number < max(done_once, default=0) and len({*times}) > 1:
            yield f"{write.name} failed, and is visible in part"
    if counts:
        yield f"{len(counts)} records are unknown, as {next(iter(counts))!r}"
