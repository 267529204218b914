"""Positions in many payloads at once, and how numbers, lengths and bytes are read there.

A cursor has a slot for each value that is read next: one for each payload, or for each item in one.
Nothing is read outside of the buffer, and positions only grow, so a payload that is too short is
noticed in the end, if not before. A broken payload is only marked: the decoder of one payload says
why it is broken.

Source: Apache Avro 1.12, "Binary Encoding"; Protocol Buffers, "Encoding", whose varints are alike.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_protocol.columnar.arrays.varints import read_two_bytes, skip_two_bytes, unzigzagged
from kafka_protocol.columnar.reading.rows import at_each_byte

Bytes: TypeAlias = npt.NDArray[np.uint8]
Longs: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Words: TypeAlias = npt.NDArray[np.uint64]


# The most bytes of a varint of 32 and of 64 bits.
MAX_INT_BYTES: Final = 5
MAX_LONG_BYTES: Final = 10

_CONTINUES: Final = np.uint64(0x8080_8080_8080_8080)


class _Rest(NamedTuple):
    """The bytes of varints after their first two.

    Attributes:
        slots: The slots whose varint ends within eight bytes.
        words: The eight bytes.
        stops: The highest bit of the last byte of the varint.
    """

    slots: Longs
    words: Words
    stops: Words


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

    def update(self, slots: Longs, selected: Cursor) -> None:
        """Go on where the cursor of some slots was left."""
        self.at[slots] = selected.at
        self.is_broken[slots] |= selected.is_broken

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
        return unzigzagged(self._bits(max_bytes))

    def varints(self, max_bytes: int = MAX_LONG_BYTES) -> Words:
        """A varint of each slot, as its bits are."""
        return self._bits(max_bytes).astype(np.uint64, copy=False)

    def _bits(self, max_bytes: int) -> npt.NDArray[Any]:
        """The bits of a varint of each slot: unsigned numbers, no wider than is needed."""
        bits, self.at, slots = read_two_bytes(self.data, self.at)
        return self._whole(bits, slots, max_bytes) if slots.size else bits

    def _whole(self, bits: npt.NDArray[np.uint16], slots: Longs, max_bytes: int) -> Words:
        """Varints whose first two bytes are known; `slots` have more."""
        raw: Words = bits.astype(np.uint64)
        rest = self._rest_of_varints(slots)
        raw[rest.slots] |= _joined_groups(rest.words, rest.stops) << np.uint64(14)
        slots = self._after(slots, rest, max_bytes)
        # Each round reads one more byte of the slots whose last byte says that one follows.
        for shift in range(14, 7 * max_bytes, 7):
            if not slots.size:
                break
            byte = self.data.take(self.at[slots], mode="clip")
            raw[slots] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
            self.at[slots] += 1
            slots = slots[byte >= 0x80]
        if slots.size:
            self.fail(mask_of(len(self), slots))
        return raw

    def skip_longs(self, max_bytes: int = MAX_LONG_BYTES) -> None:
        """Skip a varint of each slot."""
        self.at, slots = skip_two_bytes(self.data, self.at)
        if slots.size:
            slots = self._after(slots, self._rest_of_varints(slots), max_bytes)
        for _ in range(max_bytes - 2):
            if not slots.size:
                return
            more = self.data.take(self.at[slots], mode="clip") >= 0x80
            self.at[slots] += 1
            slots = slots[more]
        if slots.size:
            self.fail(mask_of(len(self), slots))

    def _rest_of_varints(self, slots: Longs) -> _Rest:
        """The bytes after the second byte of the varints that end within eight bytes."""
        start = self.at[slots]
        last = len(self.data) - 8
        if last < 0:
            return _Rest(slots[:0], np.empty(0, np.uint64), np.empty(0, np.uint64))
        words = at_each_byte(self.data, "<u8")[np.minimum(start, last)]
        stops = ~words & _CONTINUES
        # The lowest bit: that of the last byte of the varint.
        stops &= ~stops + np.uint64(1)
        ends = (stops != 0) & (start <= last)
        if ends.all():
            return _Rest(slots, words, stops)
        return _Rest(slots[ends], words[ends], stops[ends])

    def _after(self, slots: Longs, rest: _Rest, max_bytes: int) -> Longs:
        """Go on after the varints that were read; returns the slots of the others."""
        # The exponent of a power of two is the number of its bit.
        size = ((rest.stops.astype(np.float64).view(np.int64) >> 52) - 1023 + 1) >> 3
        self.at[rest.slots] += size
        too_long = size + 2 > max_bytes
        if too_long.any():
            self.fail(mask_of(len(self), rest.slots[too_long]))
        return slots[:0] if len(rest.slots) == len(slots) else np.setdiff1d(slots, rest.slots)

    def ints(self) -> Longs:
        """A varint of each slot that fits in 32 bits."""
        values = self.longs(MAX_INT_BYTES)
        self.fail((values < -(2**31)) | (values >= 2**31))
        return values

    def numbers(self, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """A number of fixed size of each slot."""
        kind = np.dtype(dtype)
        start = self.at
        self.skip(kind.itemsize)
        last = len(self.data) - kind.itemsize
        if last < 0:
            return np.zeros(len(self), dtype=kind)
        # `take` would first make an array of all of them.
        values: npt.NDArray[Any] = at_each_byte(self.data, kind)[np.minimum(start, last)]
        return values

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


def _joined_groups(words: Words, stops: Words) -> Words:
    """The numbers in groups of seven bits, up to the byte with the stop."""
    joined: Words = words & ((stops << np.uint64(1)) - np.uint64(1)) & ~_CONTINUES
    for lower, upper, shift in _GROUPS:
        joined = (joined & lower) | ((joined & upper) >> shift)
    return joined


# Two groups become one of twice the bits, three times.
_GROUPS: Final = tuple(
    (np.uint64(lower), np.uint64(upper), np.uint64(shift))
    for lower, upper, shift in (
        (0x007F_007F_007F_007F, 0x7F00_7F00_7F00_7F00, 1),
        (0x0000_3FFF_0000_3FFF, 0x3FFF_0000_3FFF_0000, 2),
        (0x0000_0000_0FFF_FFFF, 0x0FFF_FFFF_0000_0000, 4),
    )
)


def mask_of(count: int, slots: Longs) -> Bools:
    """True for some of as many slots."""
    mask = np.zeros(count, dtype=np.bool_)
    mask[slots] = True
    return mask
