"""The values of a field, as a scan finds them, in pieces: the last one of each message, or all.

Source: Protocol Buffers, "Encoding".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_formats.arrow.arrays import data_of
from kafka_formats.arrow.bytes_cursor import Bools, Cursor, Longs, mask_of
from kafka_formats.protobuf.layout import FIXED32, NUMBERS, VARINT, Field, Leaf
from kafka_protocol.columnar.arrays.slices import take_slices

Raw: TypeAlias = "npt.NDArray[Any]"


class FieldValues(NamedTuple):
    """Values of a field.

    Attributes:
        slots: The message of each value, ascending.
        raw: The bits of numbers, or where bytes begin.
        lengths: The lengths of bytes; -1 for numbers. Numbers with a length are packed.
    """

    slots: Longs
    raw: Raw
    lengths: Longs

    def of(self, slots: Longs) -> FieldValues:
        """The values of some messages, where each has one."""
        return FieldValues(slots, self.raw[slots], self.lengths[slots])


def numbers(slots: Longs, raw: Raw) -> FieldValues:
    """Numbers that are not packed."""
    return FieldValues(slots, raw, np.full(len(slots), -1))


def last_of(
    field: Field, pieces: Sequence[FieldValues], begin: Longs, cursor: Cursor
) -> tuple[FieldValues, Bools]:
    """The last value of each message, or zero; and whether there is one.

    A second text or inner message is marked: the first would have to be checked, or merged with it.

    Args:
        field: The field, which is not repeated.
        pieces: Its values.
        begin: Where each message begins.
        cursor: Has a slot for each message.
    """
    count = len(cursor)
    if len(pieces) == 1 and len(pieces[0].slots) == count:
        return pieces[0], np.ones(count, dtype=np.bool_)
    is_given = np.zeros(count, dtype=np.bool_)
    every = np.arange(count)
    if isinstance(field, Leaf) and field.is_number:
        last = numbers(every, np.zeros(count, dtype=_type_of(field)))
        for slots, raw, _ in pieces:
            last.raw[slots] = raw
            is_given[slots] = True
        return last, is_given
    # Slices ascend, also slices without bytes.
    last = FieldValues(every, begin.copy(), np.zeros(count, dtype=np.int64))
    for slots, raw, lengths in pieces:
        if is_given[slots].any():
            cursor.fail(mask_of(count, slots[is_given[slots]]))
        last.raw[slots], last.lengths[slots] = raw, lengths
        is_given[slots] = True
    return last, is_given


def items_of(field: Field, pieces: Sequence[FieldValues], cursor: Cursor) -> FieldValues:
    """All values of a repeated field, in the order of each message."""
    if isinstance(field, Leaf) and field.is_number:
        pieces = [_unpacked(field, piece, cursor) for piece in pieces]
        kind = _type_of(field)
    else:
        kind = np.int64
    if len(pieces) == 1:
        return pieces[0]
    slots = _joined(np.int64, [piece.slots for piece in pieces])
    order = np.argsort(slots, kind="stable")
    raw = _joined(kind, [piece.raw for piece in pieces])
    lengths = _joined(np.int64, [piece.lengths for piece in pieces])
    return FieldValues(slots[order], raw[order], lengths[order])


def _type_of(field: Leaf) -> Any:
    return np.uint32 if NUMBERS[field.kind] == FIXED32 else np.uint64


def _joined(kind: Any, arrays: Sequence[Raw]) -> Raw:
    return np.concatenate([np.empty(0, kind), *arrays])


# --- Packed numbers ------------------------------------------------------------------------------


def _unpacked(field: Leaf, values: FieldValues, cursor: Cursor) -> FieldValues:
    """The numbers that are packed; messages with half a number are marked."""
    slots, start, length = values
    if not len(slots) or length[0] < 0:
        return values
    if NUMBERS[field.kind] == VARINT:
        is_cut = (length > 0) & (cursor.data.take(start + length - 1, mode="clip") >= 0x80)
    else:
        is_cut = length % np.dtype(_type_of(field)).itemsize != 0
    if is_cut.any():
        cursor.fail(mask_of(len(cursor), slots[is_cut]))
        length = np.where(is_cut, 0, length)
    if NUMBERS[field.kind] == VARINT:
        return _unpacked_varints(FieldValues(slots, start, length), cursor)
    return _unpacked_fixed(FieldValues(slots, start, length), cursor, np.dtype(_type_of(field)))


def _unpacked_fixed(values: FieldValues, cursor: Cursor, kind: np.dtype[Any]) -> FieldValues:
    counts = values.lengths // kind.itemsize
    before = np.cumsum(counts) - counts
    at = np.repeat(values.raw - before * kind.itemsize, counts)
    at += np.arange(len(at)) * kind.itemsize
    inner = Cursor(cursor.data, at, at + kind.itemsize, np.zeros(len(at), dtype=np.bool_))
    return numbers(np.repeat(values.slots, counts), inner.numbers(kind))


def _unpacked_varints(values: FieldValues, cursor: Cursor) -> FieldValues:
    data = data_of(take_slices(cursor.data.data, values.raw, values.lengths))
    bounds = np.cumsum(values.lengths)
    ends = np.flatnonzero(data[: bounds[-1]] < 0x80) + 1
    begins = np.concatenate([[0], ends])[:-1]
    counts = np.diff(np.searchsorted(ends, bounds, side="right"), prepend=0)
    slots = np.repeat(values.slots, counts)
    inner = Cursor(data, begins, ends, np.zeros(len(ends), dtype=np.bool_))
    raw = inner.varints()
    if inner.is_broken.any():
        cursor.fail(mask_of(len(cursor), slots[inner.is_broken]))
    return numbers(slots, raw)
