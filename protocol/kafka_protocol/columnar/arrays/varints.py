"""Zigzag varints with numpy, thousands at a time: as `primitives` reads and writes single ones.

Positions index one `uint8` array with many records. A position outside of it reads as its first
or last byte: the caller checks afterwards, for all records at once, that nothing was read after
the end of a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_protocol.errors import DecodeError

Bytes: TypeAlias = npt.NDArray[np.uint8]
Longs: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

MAX_VARINT_BYTES: Final = 5
MAX_VARLONG_BYTES: Final = 10


def read_varints(
    data: Bytes, positions: Longs, max_bytes: int = MAX_VARINT_BYTES
) -> tuple[Longs, Longs]:
    """Read a zigzag varint at each position (>= 0); returns values, and positions after them.

    Raises:
        DecodeError: A varint is longer than `max_bytes`.
    """
    bits, after, rows = read_two_bytes(data, positions)
    if not rows.size:
        return unzigzagged(bits), after
    raw = bits.astype(np.uint64)
    # Each round reads one more byte of the rows whose last byte had the continuation bit.
    shift = 14
    while rows.size:
        if shift >= 7 * max_bytes:
            raise DecodeError(f"a varint is longer than {max_bytes} bytes")
        byte = data.take(after[rows], mode="clip")
        raw[rows] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        after[rows] += 1
        rows = rows[byte >= 0x80]
        shift += 7
    return unzigzagged(raw), after


def skip_varints(data: Bytes, positions: Longs, max_bytes: int = MAX_VARINT_BYTES) -> Longs:
    """The positions after the varints that `read_varints` would read.

    Raises:
        DecodeError: A varint is longer than `max_bytes`.
    """
    after, rows = skip_two_bytes(data, positions)
    for _ in range(max_bytes - 2):
        if not rows.size:
            return after
        more = data.take(after[rows], mode="clip") >= 0x80
        after[rows] += 1
        rows = rows[more]
    if rows.size:
        raise DecodeError(f"a varint is longer than {max_bytes} bytes")
    return after


def read_two_bytes(data: Bytes, positions: Longs) -> tuple[npt.NDArray[Any], Longs, Longs]:
    """The first two bytes of the varint at each position, or its only one.

    Returns:
        The bits, of an unsigned type no wider than they need; the positions after the bytes; and
        the rows whose varint is longer.
    """
    first = data.take(positions, mode="clip")
    after = positions + 1
    more = first >= 0x80
    if not more.any():
        return first, after, _NO_ROWS
    second = _second_bytes(data, after, more)
    bits = (second & 0x7F).astype(np.uint16)
    bits <<= 7
    bits |= first & 0x7F
    return bits, after, np.flatnonzero(second >= 0x80)


def skip_two_bytes(data: Bytes, positions: Longs) -> tuple[Longs, Longs]:
    """The positions and the rows that `read_two_bytes` would return."""
    after = positions + 1
    more = data.take(positions, mode="clip") >= 0x80
    if not more.any():
        return after, _NO_ROWS
    return after, np.flatnonzero(_second_bytes(data, after, more) >= 0x80)


def _second_bytes(data: Bytes, after: Longs, more: Bools) -> Bytes:
    """The second bytes of varints, 0 where no `more` follow; moves `after` to the next byte."""
    second: Bytes = data.take(after, mode="clip")
    second *= more
    after += more
    return second


def unzigzagged(bits: npt.NDArray[Any]) -> Longs:
    """The numbers that the bits of zigzag varints stand for, of any unsigned type."""
    signed = _SIGNED[bits.itemsize]
    numbers: Longs = (bits >> 1).view(signed) ^ -(bits & 1).view(signed)
    return numbers.astype(np.int64, copy=False)


_NO_ROWS: Final[Longs] = np.empty(0, dtype=np.int64)
_SIGNED: Final = {1: np.int8, 2: np.int16, 8: np.int64}


def varint_sizes(values: Longs) -> Longs:
    """The size of each value as a zigzag varint, 1 to 10 bytes."""
    raw = _zigzag(values)
    sizes = np.ones(len(values), dtype=np.int64)
    for shift in range(7, _bits(raw), 7):
        sizes += raw >= np.uint64(1 << shift)
    return sizes


def write_varints(*columns: Longs) -> tuple[Bytes, Longs]:
    """Write the varints of each row, one from each column, one after the other.

    Returns:
        The bytes of all rows, and the offsets of the rows and of the end.
    """
    rows = len(columns[0])
    # Write all varints of a column with the width of the longest, then drop the unused bytes.
    digits = [digit for column in columns for digit in _digits(_zigzag(column))]
    byte = np.empty((rows, len(digits)), dtype=np.uint8)
    is_used = np.empty(byte.shape, dtype=np.bool_)
    offsets = np.zeros(rows + 1, dtype=np.int64)
    for i, digit in enumerate(digits):
        byte[:, i], is_used[:, i] = digit
        offsets[1:] += digit.is_used
    np.cumsum(offsets, out=offsets)
    return byte.ravel()[is_used.ravel()], offsets


class _Digit(NamedTuple):
    """The byte at one index of many varints, and whether each of them is that long."""

    byte: Bytes
    is_used: Bools


def _digits(raw: npt.NDArray[np.uint64]) -> Iterator[_Digit]:
    is_used = np.ones(len(raw), dtype=np.bool_)
    for _ in range(7, _bits(raw), 7):
        rest = raw >> np.uint64(7)
        more = rest != 0
        yield _Digit((raw.astype(np.uint8) & 0x7F) | (more.view(np.uint8) << 7), is_used)
        raw, is_used = rest, more
    yield _Digit(raw.astype(np.uint8), is_used)


def _bits(raw: npt.NDArray[np.uint64]) -> int:
    """The number of bits of the largest value."""
    return int(raw.max(initial=0)).bit_length()


def _zigzag(values: Longs) -> npt.NDArray[np.uint64]:
    return ((values << 1) ^ (values >> 63)).view(np.uint64)
