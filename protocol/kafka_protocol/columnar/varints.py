"""Zigzag varints, thousands at a time: numpy twins of `primitives.read_varint` and its kin.

Positions index one `uint8` array that holds many records. What lies outside of it reads as its
first or last byte: the caller refuses, afterwards and for all records at once, what was read
behind the end of a record.
"""

from __future__ import annotations

from typing import Final, TypeAlias

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
    """Read one zigzag varint at each position.

    Args:
        data: The bytes.
        positions: Where each varint begins, not negative.
        max_bytes: `MAX_VARINT_BYTES` or `MAX_VARLONG_BYTES`.

    Returns:
        The values, and the positions behind them.

    Raises:
        DecodeError: One of them is longer than `max_bytes`.
    """
    byte = data.take(positions, mode="clip")
    after = positions + 1
    rows = np.flatnonzero(byte >= 0x80)
    if not rows.size:
        return ((byte >> 1).view(np.int8) ^ -(byte & 1).view(np.int8)).astype(np.int64), after
    raw = (byte & 0x7F).astype(np.uint64)
    # Only the rows whose last byte had the continuation bit take part in a further round.
    shift = 7
    while rows.size:
        if shift >= 7 * max_bytes:
            raise DecodeError(f"a varint is longer than {max_bytes} bytes")
        byte = data.take(after[rows], mode="clip")
        raw[rows] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        after[rows] += 1
        rows = rows[byte >= 0x80]
        shift += 7
    signed = (raw >> np.uint64(1)).view(np.int64) ^ -(raw & np.uint64(1)).view(np.int64)
    return signed, after


def skip_varints(data: Bytes, positions: Longs, max_bytes: int = MAX_VARINT_BYTES) -> Longs:
    """The positions behind the varints that `read_varints` would read.

    Raises:
        DecodeError: One of them is longer than `max_bytes`.
    """
    after = positions + 1
    rows = np.flatnonzero(data.take(positions, mode="clip") >= 0x80)
    for _ in range(max_bytes - 1):
        if not rows.size:
            return after
        more = data.take(after[rows], mode="clip") >= 0x80
        after[rows] += 1
        rows = rows[more]
    if rows.size:
        raise DecodeError(f"a varint is longer than {max_bytes} bytes")
    return after


def varint_sizes(values: Longs) -> Longs:
    """How many bytes each value takes as a zigzag varint, 1 to 10."""
    raw = _zigzag(values)
    sizes = np.ones(len(values), dtype=np.int64)
    raw >>= np.uint64(7)
    while raw.any():
        sizes += raw != 0
        raw >>= np.uint64(7)
    return sizes


def write_varints(*columns: Longs) -> tuple[Bytes, Longs]:
    """Write the varints of a row one behind the other, for all rows.

    Args:
        columns: One array for each varint of a row, all of the same length.

    Returns:
        The bytes of all rows, and the offsets between rows (one more than rows).
    """
    rows = len(columns[0])
    sizes = np.column_stack([varint_sizes(column) for column in columns])
    ends = np.cumsum(sizes.ravel()).reshape(sizes.shape)
    out = np.zeros(int(ends[-1, -1]) if rows else 0, dtype=np.uint8)
    for i, column in enumerate(columns):
        _place(out, ends[:, i] - sizes[:, i], _zigzag(column))
    offsets = np.zeros(rows + 1, dtype=np.int64)
    offsets[1:] = ends[:, -1]
    return out, offsets


def _place(out: Bytes, positions: Longs, raw: npt.NDArray[np.uint64]) -> None:
    rows = np.arange(len(raw))
    positions = positions.copy()
    while rows.size:
        rest = raw[rows] >> np.uint64(7)
        more = rest != 0
        low = (raw[rows] & np.uint64(0x7F)).astype(np.uint8)
        out[positions[rows]] = low | (more.astype(np.uint8) << 7)
        raw[rows] = rest
        positions[rows] += 1
        rows = rows[more]


def _zigzag(values: Longs) -> npt.NDArray[np.uint64]:
    return ((values << 1) ^ (values >> 63)).view(np.uint64)
