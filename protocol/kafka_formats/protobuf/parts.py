"""The values of a field, as a scan finds them in parts: the last one of each message, or all.

Source: Protocol Buffers, "Encoding".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_formats.arrow.arrays import data_of
from kafka_formats.arrow.bytes_cursor import Bools, Cursor, Longs, mask_of
from kafka_formats.protobuf.layout import FIXED32, NUMBERS, VARINT, Field, Leaf
from kafka_protocol.columnar.slices import take_slices

Raw: TypeAlias = "npt.NDArray[Any]"


class Part(NamedTuple):
    """Values of a field.

    Attributes:
        slots: The message of each value, ascending.
        raw: The bits of numbers, or where bytes begin.
        lengths: Of bytes; -1 for numbers. Numbers with a length are packed.
    """

    slots: Longs
    raw: Raw
    lengths: Longs

    def of(self, slots: Longs) -> Part:
        """The values of some messages, where each has one."""
        return Part(slots, self.raw[slots], self.lengths[slots])


def numbers(slots: Longs, raw: Raw) -> Part:
    """Numbers that are not packed."""
    return Part(slots, raw, np.full(len(slots), -1))


def last_of(
    field: Field, parts: Sequence[Part], begin: Longs, cursor: Cursor
) -> tuple[Part, Bools]:
    """The last value of each message, or zero; and whether there is one.

    A second text or inner message is marked: the first would have to be checked, or merged with it.

    Args:
        field: The field, which is not repeated.
        parts: Its values.
        begin: Where each message begins.
        cursor: Has a slot for each message.
    """
    count = len(cursor)
    if len(parts) == 1 and len(parts[0].slots) == count:
        return parts[0], np.ones(count, dtype=np.bool_)
    is_given = np.zeros(count, dtype=np.bool_)
    every = np.arange(count)
    if isinstance(field, Leaf) and field.is_number:
        found = numbers(every, np.zeros(count, dtype=_type_of(field)))
        for slots, raw, _ in parts:
            found.raw[slots] = raw
            is_given[slots] = True
        return found, is_given
    # Slices ascend, those without bytes too.
    found = Part(every, begin.copy(), np.zeros(count, dtype=np.int64))
    for slots, raw, lengths in parts:
        if is_given[slots].any():
            cursor.fail(mask_of(count, slots[is_given[slots]]))
        found.raw[slots], found.lengths[slots] = raw, lengths
        is_given[slots] = True
    return found, is_given


def items_of(field: Field, parts: Sequence[Part], cursor: Cursor) -> Part:
    """All values of a repeated field, in the order of each message."""
    if isinstance(field, Leaf) and field.is_number:
        parts = [_unpacked(field, part, cursor) for part in parts]
        kind = _type_of(field)
    else:
        kind = np.int64
    if len(parts) == 1:
        return parts[0]
    slots = _joined(np.int64, [part.slots for part in parts])
    order = np.argsort(slots, kind="stable")
    raw = _joined(kind, [part.raw for part in parts])
    lengths = _joined(np.int64, [part.lengths for part in parts])
    return Part(slots[order], raw[order], lengths[order])


def _type_of(field: Leaf) -> Any:
    return np.uint32 if NUMBERS[field.kind] == FIXED32 else np.uint64


def _joined(kind: Any, arrays: Sequence[Raw]) -> Raw:
    return np.concatenate([np.empty(0, kind), *arrays])


# --- Packed numbers ------------------------------------------------------------------------------


def _unpacked(field: Leaf, part: Part, cursor: Cursor) -> Part:
    """The numbers of a part; messages with half a number are marked."""
    slots, start, length = part
    if not len(slots) or length[0] < 0:
        return part
    if NUMBERS[field.kind] == VARINT:
        is_cut = (length > 0) & (cursor.data.take(start + length - 1, mode="clip") >= 0x80)
    else:
        is_cut = length % np.dtype(_type_of(field)).itemsize != 0
    if is_cut.any():
        cursor.fail(mask_of(len(cursor), slots[is_cut]))
        length = np.where(is_cut, 0, length)
    if NUMBERS[field.kind] == VARINT:
        return _unpacked_varints(Part(slots, start, length), cursor)
    return _unpacked_fixed(Part(slots, start, length), cursor, np.dtype(_type_of(field)))


def _unpacked_fixed(part: Part, cursor: Cursor, kind: np.dtype[Any]) -> Part:
    counts = part.lengths // kind.itemsize
    before = np.cumsum(counts) - counts
    at = np.repeat(part.raw - before * kind.itemsize, counts)
    at += np.arange(len(at)) * kind.itemsize
    inner = Cursor(cursor.data, at, at + kind.itemsize, np.zeros(len(at), dtype=np.bool_))
    return numbers(np.repeat(part.slots, counts), inner.numbers(kind))


def _unpacked_varints(part: Part, cursor: Cursor) -> Part:
    data = data_of(take_slices(cursor.data.data, part.raw, part.lengths, pa.binary()))
    bounds = np.cumsum(part.lengths)
    ends = np.flatnonzero(data[: bounds[-1]] < 0x80) + 1
    begins = np.concatenate([[0], ends])[:-1]
    counts = np.diff(np.searchsorted(ends, bounds, side="right"), prepend=0)
    slots = np.repeat(part.slots, counts)
    inner = Cursor(data, begins, ends, np.zeros(len(ends), dtype=np.bool_))
    raw = inner.varints()
    if inner.is_broken.any():
        cursor.fail(mask_of(len(cursor), slots[inner.is_broken]))
    return numbers(slots, raw)
