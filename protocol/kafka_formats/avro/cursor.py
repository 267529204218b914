"""Positions in many payloads at once, and how numbers, lengths and bytes are read there.

A cursor has a slot for each value that is read next: one for each payload, or for each list with
another item. Nothing is read outside of the buffer, and positions only grow, so a payload that is
too short is found in the end, if not before. A broken payload is only marked: `scalar` says what is
wrong with it.

Source: Apache Avro 1.12, "Binary Encoding".
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_formats.avro.limits import MAX_INT_BYTES, MAX_LONG_BYTES

Bytes: TypeAlias = npt.NDArray[np.uint8]
Longs: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]


class Cursor:
    """The positions of slots, ascending, in one buffer.

    Attributes:
        data: The buffer; at least one byte.
        at: The next byte of each slot.
        end: The end of the payload of each slot.
        is_broken: Whether the payload of each slot is known not to have its schema.
    """

    def __init__(self, data: Bytes, at: Longs, end: Longs, is_broken: Bools) -> None:
        self.data = data
        self.at = at
        self.end = end
        self.is_broken = is_broken

    def __len__(self) -> int:
        return len(self.at)

    def select(self, slots: Longs) -> Cursor:
        """A cursor of some slots. `update` takes over where it was left."""
        return Cursor(self.data, self.at[slots], self.end[slots], self.is_broken[slots])

    def update(self, slots: Longs, part: Cursor) -> None:
        """Go on where the cursor of some slots was left."""
        self.at[slots] = part.at
        self.is_broken[slots] |= part.is_broken

    def fail(self, broken: Bools) -> None:
        """Mark the payloads of some slots as broken; nothing more is read of them."""
        if broken.any():
            self.is_broken |= broken
            self.at = np.where(broken, self.end, self.at)

    def skip(self, size: int) -> None:
        """Skip as many bytes of each slot."""
        self.at = self.at + size

    def longs(self, max_bytes: int = MAX_LONG_BYTES) -> Longs:
        """A zigzag varint of each slot."""
        byte = self.data.take(self.at, mode="clip")
        self.at = self.at + 1
        slots = np.flatnonzero(byte >= 0x80)
        if not slots.size:
            return ((byte >> 1).view(np.int8) ^ -(byte & 1).view(np.int8)).astype(np.int64)
        raw = (byte & 0x7F).astype(np.uint64)
        # Each round reads one more byte of the slots whose last byte says that one follows.
        for shift in range(7, 7 * max_bytes, 7):
            byte = self.data.take(self.at[slots], mode="clip")
            raw[slots] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
            self.at[slots] += 1
            slots = slots[byte >= 0x80]
            if not slots.size:
                break
        if slots.size:
            self.fail(_mask(len(self), slots))
        found: Longs = (raw >> np.uint64(1)).view(np.int64) ^ -(raw & np.uint64(1)).view(np.int64)
        return found

    def skip_longs(self, max_bytes: int = MAX_LONG_BYTES) -> None:
        """Skip a varint of each slot."""
        slots = np.flatnonzero(self.data.take(self.at, mode="clip") >= 0x80)
        self.at = self.at + 1
        for _ in range(max_bytes - 1):
            if not slots.size:
                return
            more = self.data.take(self.at[slots], mode="clip") >= 0x80
            self.at[slots] += 1
            slots = slots[more]
        if slots.size:
            self.fail(_mask(len(self), slots))

    def ints(self) -> Longs:
        """A varint of each slot that fits in 32 bits."""
        found = self.longs(MAX_INT_BYTES)
        self.fail((found < -(2**31)) | (found >= 2**31))
        return found

    def numbers(self, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """A number of fixed size of each slot."""
        kind = np.dtype(dtype)
        start = self.at
        self.skip(kind.itemsize)
        last = len(self.data) - kind.itemsize
        if last < 0:
            return np.zeros(len(self), dtype=kind)
        at_each_byte = np.ndarray(last + 1, dtype=kind, buffer=self.data, strides=(1,))
        found: npt.NDArray[Any] = at_each_byte.take(start, mode="clip")
        return found

    def lengths(self) -> Longs:
        """The length of the bytes of each slot, which its payload has; 0 where it is broken."""
        length = self.longs()
        wrong = (length < 0) | (length > self.end - self.at)
        if wrong.any():
            self.fail(wrong)
            length[wrong] = 0
        return length

    def slices(self) -> tuple[Longs, Longs]:
        """The start and the length of the bytes of each slot."""
        length = self.lengths()
        start = self.at
        self.at = start + length
        return start, length

    def fixed_slices(self, size: int) -> tuple[Longs, Longs]:
        """The start and the length of bytes of the same size of each slot."""
        self.fail(self.end - self.at < size)
        length = np.where(self.is_broken, 0, size)
        start = self.at
        self.at = start + length
        return start, length


def _mask(count: int, slots: Longs) -> Bools:
    mask = np.zeros(count, dtype=np.bool_)
    mask[slots] = True
    return mask
