"""The ends of the records of magic 2 of several batches, found for many records at a time.

Each record begins with its length, so one walk through them cannot skip any. But
numpy can take many walks together, by one record each per step:

1. Starts: a walk starts at the first record of each batch. If batches have many records, guess
   more starts, about one per `_SPACING` records: positions that look like the start of a record.
2. Walk: take each walk up to its target, the start of the next walk or the end of the batch.
3. Verify: each walk must hit its target exactly, and each batch must have its number of records.
   The first start of a batch is right. A walk from a right start finds right ends only, so
   hitting its target proves that the next start is right, and so on.

If the verification fails, the result is None, and `record_boundaries` reads record by record.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from kafka_protocol.columnar.arrays.varints import Bytes, Longs
from kafka_protocol.records.batch import MIN_RECORD_BYTES
from kafka_protocol.records.compression import Buffer

# The records between two guessed starts.
_SPACING: Final = 16
# The steps of a round, after which walks that reached their targets are dropped.
_STEPS: Final = 20
_MAX_ROUNDS: Final = 16
# One step of all walks costs as much time as reading this many records one by one.
_STEP_COST: Final = 64
# The largest mean record size for guesses: a guess searches the bytes of one and a half records.
_MAX_GUESSED_BYTES: Final = 400


def find_record_boundaries(
    data: Buffer, begins: Longs, stops: Longs, counts: Longs
) -> Longs | None:
    """Find the end of each record of several batches in one buffer.

    Each batch has `counts` records, from its position in `begins` (ascending) to that in `stops`.

    Returns:
        The ends of all records, ascending. None if there are too few walks for a gain, if a
        record has 8 kB or more, or if the verification fails.
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
        guessed = _guess_starts(view, int(begins[0]), int(stops[-1]), mean)
        batch = np.searchsorted(begins, guessed, side="right") - 1
        starts = np.sort(np.concatenate((begins, guessed[guessed < stops[batch]])))
    targets = stops[np.searchsorted(begins, starts, side="right") - 1]
    np.minimum(targets[:-1], starts[1:], out=targets[:-1])
    ends = _walk(view, starts, targets, steps)
    if ends is None or not _is_verified(ends, targets, begins, stops, counts):
        return None
    return ends


def _guess_starts(view: Bytes, begin: int, stop: int, mean: int) -> Longs:
    """Positions about `_SPACING` records apart where records are likely to begin."""
    span, width = _SPACING * mean, mean + mean // 2
    first = begin + span
    windows = (stop - first) // span
    if windows <= 0:
        return np.empty(0, dtype=np.int64)
    byte, byte_before = (
        view[pos : pos + windows * span].reshape(windows, span)[:, :width]
        for pos in (first, first - 1)
    )
    # The attributes of a record are 0, and the length before them is not.
    candidates = np.flatnonzero((byte == 0) & (byte_before != 0))
    if len(candidates) > _SPACING * windows:
        return np.empty(0, dtype=np.int64)  # too many zeros for a good guess
    window = candidates // width
    pos = candidates + window * (span - width) + first - 1
    pos -= view[pos - 1] >= 0x80
    # Follow each candidate for three records, and use the position after them: a wrong walk
    # often ends by then, or runs into the right one.
    for _ in range(3):
        size = _sizes_at(view, pos)
        pos = pos + size
        attributes_at = pos + 1 + (view.take(pos, mode="clip") >= 0x80)
        likely = (size >= MIN_RECORD_BYTES) & (view.take(attributes_at, mode="clip") == 0)
        window, pos = window[likely], pos[likely]
    is_first = np.ones(len(window), dtype=np.bool_)
    is_first[1:] = window[1:] != window[:-1]
    return pos[is_first]


def _walk(view: Bytes, starts: Longs, targets: Longs, steps: int) -> Longs | None:
    """The ends of the records from each start up to its target, or the first end after it.

    Ascending. None if a walk did not reach its target within `_MAX_ROUNDS`.
    """
    ends = []
    for _ in range(_MAX_ROUNDS):
        walks = np.empty((steps + 1, len(starts)), dtype=np.int64)
        walks[0] = starts
        for step in range(steps):
            np.add(walks[step], _sizes_at(view, walks[step]), out=walks[step + 1])
        is_before_target = walks[:-1] < targets
        ends.append(walks[1:].T[is_before_target.T])
        unfinished = np.flatnonzero(walks[-1] < targets)
        if not unfinished.size:
            return np.sort(np.concatenate(ends), kind="stable")
        starts, targets = walks[-1][unfinished], targets[unfinished]
    return None


def _is_verified(ends: Longs, targets: Longs, begins: Longs, stops: Longs, counts: Longs) -> bool:
    """Whether each walk hit its target, and each batch has its number of records."""
    index = np.searchsorted(ends, targets)
    if index[-1] >= len(ends) or (ends[index] != targets).any():
        return False
    ends_per_batch = np.searchsorted(ends, stops, side="right") - np.searchsorted(
        ends, begins, side="right"
    )
    return len(ends) == counts.sum() and bool((ends_per_batch == counts).all())


def _sizes_at(view: Bytes, pos: Longs) -> Longs:
    """The size of the record at each position, with its length field; 0 if that has 3 bytes."""
    code = view.take(pos + 1, mode="clip").astype(np.int64)
    code <<= 8
    code |= view.take(pos, mode="clip")
    return _sizes().take(code)


@cache
def _sizes() -> Longs:
    """The size of a record by its first two bytes, as a little-endian number."""
    second, first = np.divmod(np.arange(0x10000, dtype=np.int64), 0x100)
    one_byte = (first >> 1) + 1
    two_bytes = ((first & 0x7F | second << 7) >> 1) + 2
    sizes = np.where(first < 0x80, one_byte, np.where(second < 0x80, two_bytes, 0))
    sizes[first % 2 == 1] = 0  # a negative length
    sizes.setflags(write=False)  # all threads share it
    return sizes
