"""The wrong header checksum of lz4 frames in messages of magic 0 (KAFKA-3160).

Kafka included the frame's magic number in it, the lz4 format does not. Magic 1 has the right one.
Brokers of 0.8 and 0.9 reject the right one, newer brokers accept both.

Source: the LZ4 frame format, "Frame Descriptor"; the xxHash specification (XXH32).
"""

from __future__ import annotations

import struct
from typing import Final

from kafka_protocol.records.compression import Buffer

_MAGIC_BYTES: Final = 4
_CONTENT_SIZE_BIT: Final = 0x08
_DICTIONARY_BIT: Final = 0x01

_PRIME_1: Final = 0x9E3779B1
_PRIME_2: Final = 0x85EBCA77
_PRIME_3: Final = 0xC2B2AE3D
_PRIME_4: Final = 0x27D4EB2F
_PRIME_5: Final = 0x165667B1
_MASK: Final = 0xFFFFFFFF


def with_right_checksum(frame: Buffer) -> Buffer:
    """The frame with the right checksum if it has Kafka's wrong one, else unchanged."""
    at = _checksum_at(frame)
    if at is None or frame[at] != _wrong(frame, at):
        return frame
    return _with_byte(frame, at, _right(frame, at))


def with_wrong_checksum(frame: Buffer) -> Buffer:
    """A valid lz4 frame with the wrong checksum, for brokers of 0.8 and 0.9."""
    at = _checksum_at(frame)
    return frame if at is None else _with_byte(frame, at, _wrong(frame, at))


def _checksum_at(frame: Buffer) -> int | None:
    """The position of the checksum; None without one, or if it covers a dictionary id."""
    if len(frame) < _MAGIC_BYTES + 3 or frame[_MAGIC_BYTES] & _DICTIONARY_BIT:
        return None
    at = _MAGIC_BYTES + 2 + (8 if frame[_MAGIC_BYTES] & _CONTENT_SIZE_BIT else 0)
    return at if at < len(frame) else None


def _right(frame: Buffer, at: int) -> int:
    return xxh32(bytes(frame[_MAGIC_BYTES:at])) >> 8 & 0xFF


def _wrong(frame: Buffer, at: int) -> int:
    return xxh32(bytes(frame[:at])) >> 8 & 0xFF


def _with_byte(frame: Buffer, at: int, byte: int) -> bytes:
    return b"".join((frame[:at], bytes((byte,)), frame[at + 1 :]))


def xxh32(data: bytes) -> int:
    """XXH32 with seed 0, for less than 16 bytes only."""
    result = _PRIME_5 + len(data)
    words = len(data) // 4
    for word in struct.unpack_from(f"<{words}I", data):
        result = _rotated(result + word * _PRIME_3, 17) * _PRIME_4
    for byte in data[4 * words :]:
        result = _rotated(result + byte * _PRIME_5, 11) * _PRIME_1
    result &= _MASK
    result = (result ^ result >> 15) * _PRIME_2 & _MASK
    result = (result ^ result >> 13) * _PRIME_3 & _MASK
    return result ^ result >> 16


def _rotated(value: int, bits: int) -> int:
    value &= _MASK
    return value << bits | value >> (32 - bits)
