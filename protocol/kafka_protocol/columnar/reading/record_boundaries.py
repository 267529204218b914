"""The end of each record of magic 2, found record by record.

Each record begins with its length, so its end is known only after the end of the record before.
Two things make this fast: a table maps the first two bytes of a record to its size, and numpy
checks up to `_MAX_RUN` records of equal length at a time. Records from 8 kB to 1 MB, whose length
has three bytes, are read one by one. `record_boundaries_parallel` is faster for many records, but
cannot read all data; this module can, and names the error. `record_rows` reads the fields between.
"""

from __future__ import annotations

import struct
from array import array
from functools import cache
from typing import Final

import numpy as np

from kafka_protocol.errors import DecodeError
from kafka_protocol.records.compression import Buffer
from kafka_protocol.wire.primitives import read_varint

# The most records, and bytes by their mean size, to read by the table before the next search for
# equal lengths. Steps after a record that is not in the table are wasted.
_MAX_WALK: Final = 256
_MAX_WALK_BYTES: Final = 64 * 1024
# The most records of equal length to check together.
_MAX_RUN: Final = 8192
# Three bytes of a length field, and one more.
_CODE: Final = struct.Struct("<I")
# Only check for equal lengths if the next record and the one after this many have this length.
_PROBE: Final = 64


def append_record_boundaries(
    data: Buffer, pos: int, stop: int, count: int, ends: array[int]
) -> None:
    """Append the end of each of a batch's `count` records, between `pos` and `stop`, to `ends`.

    Raises:
        DecodeError: The lengths do not match `stop` and `count`.
    """
    steps = _steps()
    try:
        while count and pos < stop:
            step = steps[data[pos]][data[pos + 1]]
            if step == 0:
                next_ends = _walk_large(data, pos, stop, count) or _read_one(data, pos, stop)
            else:
                mean = (stop - pos) // count
                max_run = min(count, _MAX_RUN, (stop - pos) // step)
                max_walk = min(count, _MAX_WALK, 1 + _MAX_WALK_BYTES // (mean + 1))
                next_ends = _run(data, pos, step, max_run) or _walk(data, pos, max_walk)
            ends.extend(next_ends)
            pos = next_ends[-1]
            count -= len(next_ends)
    except IndexError:
        raise DecodeError("a record begins after the end of its batch") from None
    if count or pos != stop:
        raise DecodeError("the lengths of the records do not add up to the length of the batch")


def _walk_large(data: Buffer, pos: int, stop: int, count: int) -> array[int]:
    """The ends of up to `count` records from `pos`, while their length fields have three bytes."""
    ends: list[int] = []
    read_code, add = _CODE.unpack_from, ends.append
    for _ in range(count):
        if stop - pos < _CODE.size:
            break
        (code,) = read_code(data, pos)
        # The first two bytes have the bit that says that more follow. An odd number is negative.
        if code & 0x808081 != 0x8080:
            break
        pos += 3 + (code >> 1 & 0x3F | code >> 2 & 0x1FC0 | code >> 3 & 0xFE000)
        add(pos)
    if ends and pos > stop:
        ends.pop()
    return array("q", ends)  # much faster than extending an array by a list


def _read_one(data: Buffer, pos: int, stop: int) -> array[int]:
    """The end of the record at `pos`, of any length."""
    length, body = read_varint(memoryview(data)[:stop], pos)
    if length < 0 or body + length > stop:
        raise DecodeError(f"a record of {length} bytes with {stop - body} bytes left")
    return array("q", (body + length,))


def _run(data: Buffer, pos: int, step: int, max_count: int) -> array[int]:
    """The ends of up to `max_count` records from `pos` with equal length fields; may be empty.

    This is exact: if each length is the same, each next record begins `step` bytes later.
    """
    width = 1 if data[pos] < 0x80 else 2
    length = data[pos : pos + width]
    if max_count <= _PROBE or any(
        data[probe : probe + width] != length for probe in (pos + step, pos + _PROBE * step)
    ):
        return array("q")
    records = np.frombuffer(data, np.uint8, max_count * step, pos).reshape(max_count, step)
    length_fields = records[:, :width]
    same = (length_fields == length_fields[0]).all(axis=1)
    equal = max_count if same.all() else int(np.argmin(same))
    return array("q", np.arange(pos + step, pos + equal * step + 1, step, dtype=np.int64).tobytes())


def _walk(data: Buffer, pos: int, count: int) -> array[int]:
    """The ends of up to `count` records from `pos`, until one is not in the table."""
    steps = _steps()
    # point: slow-extend
    ends = [pos := pos + steps[data[pos]][data[pos + 1]] for _ in range(count)]
    # A step is 0 at a record that is not in the table; the first record is.
    if count > 1 and ends[-1] == ends[-2]:
        del ends[ends.index(pos) + 1 :]
    return array("q", ends)  # much faster than extending an array by a list


@cache
def _steps() -> list[list[int]]:
    """The size of a record with its length field, by its first two bytes; 0 if not in the table.

    The table has lengths of one or two bytes that are not negative.
    """
    one_byte = [[(first >> 1) + 1 if first % 2 == 0 else 0] * 256 for first in range(0x80)]
    two_bytes = [
        [((low | second << 7) >> 1) + 2 if low % 2 == 0 else 0 for second in range(0x80)]
        + [0] * 0x80
        for low in range(0x80)
    ]
    return one_byte + two_bytes
