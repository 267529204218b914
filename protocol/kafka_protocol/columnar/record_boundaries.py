"""Where records of magic 2 end: the one thing that must be found out record by record.

A record's length stands in front of it, so the next one cannot be found before it. Two things make
up for Python's speed: one look into a table replaces the arithmetic of a length of one or two
bytes, and while records have the same length numpy looks at thousands of them at a time.
"""

from __future__ import annotations

from array import array
from functools import cache
from typing import Final

import numpy as np

from kafka_protocol.errors import DecodeError
from kafka_protocol.primitives import read_varint

# How far to step before equal lengths are looked for again: in records, and in bytes by the mean
# of those that are left. Steps behind a record that the table does not know are in vain.
_WALK: Final = 256
_WALK_BYTES: Final = 64 * 1024
# How many records are looked at together, at the most.
_RUN: Final = 8192
# Equal lengths are looked for where the next record, and this one, begin like the one at hand.
_PROBE: Final = 64


def append_record_ends(data: bytes, pos: int, stop: int, count: int, ends: array[int]) -> None:
    """Note where each record of a batch ends.

    Args:
        data: A buffer that holds the batch.
        pos: Where its first record begins.
        stop: Where its last one must end.
        count: How many there must be.
        ends: Where to note it; 64-bit integers.

    Raises:
        DecodeError: The lengths do not add up.
    """
    steps = _steps()
    try:
        while count and pos < stop:
            step = steps[data[pos]][data[pos + 1]]
            if step == 0:
                found = _one(data, pos, stop)
            else:
                mean = (stop - pos) // count
                found = _run(data, pos, step, min(count, _RUN, (stop - pos) // step)) or _walk(
                    data, pos, min(count, _WALK, 1 + _WALK_BYTES // (mean + 1))
                )
            ends.extend(found)
            pos = found[-1]
            count -= len(found)
    except IndexError:
        raise DecodeError("a record begins behind the end of its batch") from None
    if count or pos != stop:
        raise DecodeError("the lengths of the records do not add up to the length of the batch")


def _one(data: bytes, pos: int, stop: int) -> array[int]:
    """The end of the record at `pos`, whatever its length is."""
    length, body = read_varint(memoryview(data)[:stop], pos)
    if length < 0 or body + length > stop:
        raise DecodeError(f"a record of {length} bytes with {stop - body} bytes left")
    return array("q", (body + length,))


def _run(data: bytes, pos: int, step: int, most: int) -> array[int]:
    """The ends of up to `most` records from `pos` on that begin with the same length; or none.

    Nothing is assumed: where the length of one is right, so is the beginning of the next.
    """
    width = 1 if data[pos] < 0x80 else 2
    length = data[pos : pos + width]
    if most <= _PROBE or any(
        data[at : at + width] != length for at in (pos + step, pos + _PROBE * step)
    ):
        return array("q")
    ahead = np.frombuffer(data, np.uint8, most * step, pos).reshape(most, step)[:, :width]
    same = (ahead == ahead[0]).all(axis=1)
    equal = most if same.all() else int(np.argmin(same))
    return array("q", np.arange(pos + step, pos + equal * step + 1, step, dtype=np.int64).tobytes())


def _walk(data: bytes, pos: int, count: int) -> array[int]:
    """The ends of up to `count` records from `pos` on, as long as the table has an answer."""
    steps = _steps()
    ends = [pos := pos + steps[data[pos]][data[pos + 1]] for _ in range(count)]
    # Without an answer the position stands still; the first record has one.
    if count > 1 and ends[-1] == ends[-2]:
        del ends[ends.index(pos) + 1 :]
    return array("q", ends)  # which is much faster than extending an array by a list


@cache
def _steps() -> list[list[int]]:
    """From the first two bytes of a record to its size with its length; 0 for anything else."""
    one_byte = [[(first >> 1) + 1 if first % 2 == 0 else 0] * 256 for first in range(0x80)]
    two_bytes = [
        [((low | second << 7) >> 1) + 2 if low % 2 == 0 else 0 for second in range(0x80)]
        + [0] * 0x80
        for low in range(0x80)
    ]
    return one_byte + two_bytes
