"""The message index of Confluent's frames: which message of a schema a payload has.

It is a count and as many numbers, all varints in zigzag: the place of a message in its file, of
a nested one in that, and so on. One byte of zero is short for the first message of the file.

Source: Confluent's "Wire format".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from kafka_formats.errors import PayloadError

Index: TypeAlias = tuple[int, ...]

_MAX_DEPTH = 100
_MAX_VARINT_BYTES = 5


def read_index(payload: bytes, at: int) -> tuple[Index, int]:
    """An index, and where it ends.

    Raises:
        PayloadError: It is cut off or invalid.
    """
    count, at = _read_number(payload, at)
    if count == 0:
        return (0,), at
    if not 0 < count <= _MAX_DEPTH:
        raise PayloadError("", f"the message index has {count} numbers")
    found = []
    for _ in range(count):
        number, at = _read_number(payload, at)
        found.append(number)
    return tuple(found), at


def write_index(index: Sequence[int]) -> bytes:
    """The bytes of an index."""
    if tuple(index) == (0,):
        return b"\x00"
    return b"".join(map(_number, (len(index), *index)))


def _read_number(payload: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_MAX_VARINT_BYTES):
        if at >= len(payload):
            raise PayloadError("", "it ends within the message index")
        byte = payload[at]
        at += 1
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise PayloadError("", "the message index is invalid")


def _number(value: int) -> bytes:
    left, found = value << 1, bytearray()
    while left >= 0x80:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    found.append(left)
    return bytes(found)
