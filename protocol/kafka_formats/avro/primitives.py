"""Reads values without parts, of many payloads at once: numbers, bytes, symbols, decimals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_formats.arrow.arrays import texts_of
from kafka_formats.arrow.bytes_cursor import MAX_INT_BYTES, Bools, Cursor, Longs
from kafka_formats.arrow.decimals import ONE, Ratio, rescaled
from kafka_formats.avro.logical import text_of_decimal
from kafka_formats.avro.plan import (
    LONG_LIMIT,
    Boolean,
    Bytes,
    Decimal,
    DecimalText,
    Null,
    Number,
    Symbol,
)
from kafka_protocol.columnar.arrays.arrow_memory import (
    array_of,
    array_of_bools,
    array_of_bytes,
    buffer_of,
    indices_of,
)
from kafka_protocol.columnar.arrays.slices import take_slices

_DECIMAL_BYTES: Final = 16


def read_null(plan: Null, cursor: Cursor) -> pa.Array:
    """Nulls."""
    return pa.nulls(len(cursor), plan.type)


def skip_null(_plan: Null, _cursor: Cursor) -> None:
    """No bytes."""


def read_number(plan: Number, cursor: Cursor) -> pa.Array:
    """Numbers, dates or timestamps."""
    numbers = _READ_NUMBERS[plan.written](cursor)
    if plan.ratio is not None and plan.ratio is not ONE:
        numbers, is_broken = _rescaled(numbers, plan.ratio)
        cursor.fail(is_broken)
    return array_of(numbers, plan.type)


def _rescaled(numbers: Longs, ratio: Ratio) -> tuple[Longs, Bools]:
    """Numbers in another unit, and whether each is broken: it does not fit, and has any value."""
    if ratio.per != 1:
        whole = numbers // ratio.per
        return whole, whole * ratio.per != numbers
    limit = (LONG_LIMIT - 1) // ratio.times
    is_broken: Bools = (numbers > limit) | (numbers < -limit)
    return np.where(is_broken, 0, numbers) * ratio.times, is_broken


def skip_number(plan: Number, cursor: Cursor) -> None:
    """Skip numbers."""
    _SKIP_NUMBERS[plan.written](cursor)


_READ_NUMBERS: Final[Mapping[str, Callable[[Cursor], npt.NDArray[Any]]]] = {
    "int": Cursor.ints,
    "long": Cursor.longs,
    "float": lambda cursor: cursor.numbers("<f4"),
    "double": lambda cursor: cursor.numbers("<f8"),
}
_SKIP_NUMBERS: Final[Mapping[str, Callable[[Cursor], None]]] = {
    "int": lambda cursor: cursor.skip_longs(MAX_INT_BYTES),
    "long": Cursor.skip_longs,
    "float": lambda cursor: cursor.skip(4),
    "double": lambda cursor: cursor.skip(8),
}


def read_boolean(_plan: Boolean, cursor: Cursor) -> pa.Array:
    """Bytes that are 0 or 1."""
    byte = cursor.numbers(np.uint8)
    cursor.fail(byte > 1)
    return array_of_bools(byte == 1)


def skip_boolean(_plan: Boolean, cursor: Cursor) -> None:
    """Skip booleans."""
    cursor.skip(1)


def read_bytes(plan: Bytes, cursor: Cursor) -> pa.Array:
    """Bytes, or strings."""
    return _taken(plan, cursor, *_slices(cursor, plan.size))


def read_some_bytes(plan: Bytes, cursor: Cursor, slots: Longs) -> pa.Array:
    """Bytes, or strings, of some slots; null for the others."""
    selected = cursor.select(slots)
    # Slices ascend and are in the buffer, also for null; a broken payload may be read beyond.
    start, length = np.minimum(cursor.at, cursor.end), np.full(len(cursor), -1)
    start[slots], length[slots] = _slices(selected, plan.size)
    cursor.update(slots, selected)
    return _taken(plan, cursor, start, length)


def _taken(plan: Bytes, cursor: Cursor, start: Longs, length: Longs) -> pa.Array:
    taken = take_slices(cursor.data.data, start, length)
    if not pa.types.is_string(plan.type):
        return taken
    texts, is_broken = texts_of(taken)
    cursor.fail(is_broken)
    return texts


def skip_bytes(plan: Bytes, cursor: Cursor) -> None:
    """Skip bytes."""
    _slices(cursor, plan.size)


def _slices(cursor: Cursor, size: int | None) -> tuple[Longs, Longs]:
    return cursor.slices() if size is None else cursor.fixed_slices(size)


def read_symbol(plan: Symbol, cursor: Cursor) -> pa.Array:
    """Symbols of an enum."""
    number = cursor.ints()
    broken = (number < 0) | (number >= len(plan.symbols))
    number[broken] = 0
    broken |= np.array([symbol is None for symbol in plan.symbols])[number]
    cursor.fail(broken)
    symbols = array_of_bytes([(symbol or "").encode() for symbol in plan.symbols], pa.string())
    return symbols.take(indices_of(number))


def skip_symbol(_plan: Symbol, cursor: Cursor) -> None:
    """Skip symbols."""
    cursor.skip_longs(MAX_INT_BYTES)


def read_decimal(plan: Decimal, cursor: Cursor) -> pa.Array:
    """Decimals."""
    start, length = _slices(cursor, plan.size)
    numbers, is_broken = _signed_numbers(cursor, start, length)
    if plan.ratio != ONE:
        rows = _Rows(cursor.data, start, start + length)
        numbers, is_broken = _rescaled_decimals(plan, numbers, is_broken, rows)
    cursor.fail(is_broken | _is_beyond(numbers, plan.limit) | (length == 0))
    numbers[cursor.is_broken] = 0
    return pa.Array.from_buffers(plan.type, len(cursor), [None, buffer_of(numbers)])


class _Rows(NamedTuple):
    """The bytes of each slot."""

    data: npt.NDArray[np.uint8]
    start: Longs
    end: Longs

    def of(self, slot: int) -> bytes:
        """The bytes of one."""
        return self.data[self.start[slot] : self.end[slot]].tobytes()


def _rescaled_decimals(
    plan: Decimal, numbers: Longs, is_wide: Bools, rows: _Rows
) -> tuple[Longs, Bools]:
    """Decimals of an older schema with the reader's scale, and whether each loses digits."""
    low, is_broken = numbers[:, 0], np.zeros(len(numbers), dtype=np.bool_)
    is_done = ~is_wide & (numbers[:, 1] == low >> 63)
    if max(plan.ratio) >= LONG_LIMIT:
        is_done[:] = False
    else:
        low, is_lossy = _rescaled(low, plan.ratio)
        if plan.ratio.per == 1:
            # It does not fit 64 bits, but maybe a decimal.
            is_done &= ~is_lossy
        else:
            is_broken = is_done & is_lossy
    words = np.stack([low, low >> 63], axis=1)
    for slot in np.flatnonzero(~is_done).tolist():
        written = int.from_bytes(rows.of(slot), "big", signed=True)
        number = rescaled(written, plan.ratio, plan.limit)
        is_broken[slot] = number is None
        digits = (number or 0).to_bytes(_DECIMAL_BYTES, "little", signed=True)
        words[slot] = np.frombuffer(digits, "<i8")
    return words, is_broken


def read_decimal_text(plan: DecimalText, cursor: Cursor) -> pa.Array:
    """Decimals that are wider than Arrow's, one by one."""
    start, length = _slices(cursor, plan.size)
    rows = _Rows(cursor.data, start, start + length)
    texts = [text_of_decimal(rows.of(slot), plan.ratio, plan.scale) for slot in range(len(cursor))]
    cursor.fail(np.array([text is None for text in texts], dtype=np.bool_))
    return array_of_bytes([(text or "").encode() for text in texts], pa.string())


def _signed_numbers(cursor: Cursor, start: Longs, length: Longs) -> tuple[Longs, Bools]:
    """Big-endian numbers, and whether each is wider than two words of 64 bits.

    The numbers are rows of two little-endian words, the low one first.
    """
    digits = np.empty((len(start), _DECIMAL_BYTES), dtype=np.uint8)
    last = start + length - 1
    is_negative = (cursor.data.take(start, mode="clip") >= 0x80) & (length > 0)
    filling = np.where(is_negative, 0xFF, 0).astype(np.uint8)
    for place in range(_DECIMAL_BYTES):
        byte = cursor.data.take(last - place, mode="clip")
        digits[:, place] = np.where(place < length, byte, filling)
    # Bytes before the last sixteen must only repeat the sign.
    too_wide = np.zeros(len(start), dtype=np.bool_)
    for slot in np.flatnonzero(length > _DECIMAL_BYTES):
        front = cursor.data[start[slot] : start[slot] + length[slot] - _DECIMAL_BYTES]
        sign_changes = (digits[slot, -1] >= 0x80) != is_negative[slot]
        too_wide[slot] = sign_changes or (front != filling[slot]).any()
    return digits.view("<i8"), too_wide


def _is_beyond(numbers: Longs, limit: int) -> Bools:
    """Whether the absolute value of a number of two words is this limit or more."""
    low, high = numbers[:, 0].view(np.uint64), numbers[:, 1]
    return ~_is_below(low, high, limit) | _is_below(low, high, 1 - limit)


def _is_below(low: npt.NDArray[np.uint64], high: Longs, limit: int) -> Bools:
    limit_high, limit_low = limit >> 64, np.uint64(limit & (2**64 - 1))
    below: Bools = (high < limit_high) | ((high == limit_high) & (low < limit_low))
    return below
