"""Where records of magic 2 end, for many chains of records at the same time.

A record's length stands in front of it, so the next one cannot be found before it. What can be
done together is one step of many chains. A chain begins with each batch; and so that there are
enough of them, wherever else something looks like the beginning of a record. That is a guess, and
it is proven before it is used: the chain before it has to arrive there. Where anything does not
fit, nothing is said, and `record_ends` goes from record to record.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from kafka_protocol.columnar.varints import Bytes, Longs
from kafka_protocol.records.batch import MIN_RECORD_BYTES

# How many records lie between guesses, and how many steps are made before those chains that have
# arrived are left out.
_SPACING: Final = 16
_STEPS: Final = 20
# A step of all chains costs as much as going to so many records one by one.
_STEP_COST: Final = 64
# A guess is looked for among all bytes of one and a half records. It does not pay for long ones.
_MAX_GUESSED_BYTES: Final = 400
_MAX_ROUNDS: Final = 16


def find_ends(data: bytes, begins: Longs, stops: Longs, counts: Longs) -> Longs | None:
    """Find the end of each record of some batches.

    Args:
        data: A buffer that holds the batches.
        begins: Where each batch's first record begins; ascending.
        stops: Where its last one must end.
        counts: How many there must be.

    Returns:
        The ends of all records. None where there are too few chains for this to pay, where a
        record has 8 kB or more, or where something is wrong.
    """
    view = np.frombuffer(data, dtype=np.uint8)
    rows = int(counts.sum())
    mean = int((stops - begins).sum()) // rows + 1
    starts = begins
    steps = int(counts.max())
    if steps > _STEPS and mean <= _MAX_GUESSED_BYTES:
        steps = _STEPS
    if steps * _STEP_COST > rows:
        return None
    if steps == _STEPS:
        guessed = _guess(view, int(begins[0]), int(stops[-1]), mean)
        batch = np.searchsorted(begins, guessed, side="right") - 1
        starts = np.sort(np.concatenate((begins, guessed[guessed < stops[batch]])))
    targets = stops[np.searchsorted(begins, starts, side="right") - 1]
    np.minimum(targets[:-1], starts[1:], out=targets[:-1])
    ends = _follow(view, starts, targets, steps)
    if ends is None or not _is_proven(ends, targets, begins, stops, counts):
        return None
    return ends


def _guess(view: Bytes, begin: int, stop: int, mean: int) -> Longs:
    """Places, about `_SPACING` records from one another, where records are likely to begin."""
    span, width = _SPACING * mean, mean + mean // 2
    first = begin + span
    windows = (stop - first) // span
    if windows <= 0:
        return np.empty(0, dtype=np.int64)
    looked_at, before = (
        view[at : at + windows * span].reshape(windows, span)[:, :width]
        for at in (first, first - 1)
    )
    # The attributes of a record are 0, and the length before them is not.
    found = np.flatnonzero((looked_at == 0) & (before != 0))
    if len(found) > _SPACING * windows:
        return np.empty(0, dtype=np.int64)  # so many zeros tell nothing
    window = found // width
    pos = found + window * (span - width) + first - 1
    pos -= view[pos - 1] >= 0x80
    # A wrong chain may get into the right one by chance, and seldom stays wrong: so the place is
    # not the one where it began, but the one where it came to.
    for _ in range(3):
        size = _sizes_at(view, pos)
        pos = pos + size
        behind_length = pos + 1 + (view.take(pos, mode="clip") >= 0x80)
        likely = (size >= MIN_RECORD_BYTES) & (view.take(behind_length, mode="clip") == 0)
        window, pos = window[likely], pos[likely]
    is_first = np.ones(len(window), dtype=np.bool_)
    is_first[1:] = window[1:] != window[:-1]
    return pos[is_first]


def _follow(view: Bytes, starts: Longs, targets: Longs, steps: int) -> Longs | None:
    """The ends of records from each start to its target, or beyond it; ascending."""
    found = []
    for _ in range(_MAX_ROUNDS):
        chain = np.empty((steps + 1, len(starts)), dtype=np.int64)
        chain[0] = starts
        for step in range(steps):
            np.add(chain[step], _sizes_at(view, chain[step]), out=chain[step + 1])
        is_wanted = chain[:-1] < targets
        found.append(chain[1:].T[is_wanted.T])
        left = np.flatnonzero(chain[-1] < targets)
        if not left.size:
            return np.sort(np.concatenate(found), kind="stable")
        starts, targets = chain[-1][left], targets[left]
    return None


def _is_proven(ends: Longs, targets: Longs, begins: Longs, stops: Longs, counts: Longs) -> bool:
    """Whether each chain arrived at its target, and in all at as many records as there must be.

    A chain that began at the right place is right. So the first wrong one, if there were one,
    would begin where none of those before it arrived.
    """
    at = np.searchsorted(ends, targets)
    if at[-1] >= len(ends) or (ends[at] != targets).any():
        return False
    found = np.searchsorted(ends, stops, side="right") - np.searchsorted(ends, begins, side="right")
    return len(ends) == counts.sum() and bool((found == counts).all())


def _sizes_at(view: Bytes, pos: Longs) -> Longs:
    """The size of the record at each position with its length; 0 where it takes three bytes."""
    code = view.take(pos + 1, mode="clip").astype(np.int64)
    code <<= 8
    code |= view.take(pos, mode="clip")
    return _sizes().take(code)


@cache
def _sizes() -> Longs:
    """From the first two bytes of a record, the first one low, to its size."""
    second, first = np.divmod(np.arange(0x10000, dtype=np.int64), 0x100)
    one_byte = (first >> 1) + 1
    two_bytes = ((first & 0x7F | second << 7) >> 1) + 2
    sizes = np.where(first < 0x80, one_byte, np.where(second < 0x80, two_bytes, 0))
    sizes[first % 2 == 1] = 0  # a negative length
    return sizes
