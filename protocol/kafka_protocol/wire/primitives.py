"""Kafka's wire types: `read_x(buf, pos) -> (value, pos)` and `write_x(out, value)`.

Every reader takes a `memoryview` of one whole message (or of one record), reads from `pos` on and
returns the value and the position after it; it raises `DecodeError` if the bytes are truncated or
out of bounds, before allocating memory for them. Every writer appends pieces to the list `out`,
so that a large payload is never copied; it raises `EncodeError` if the value does not fit. No
message layouts and no versions here.

Sources: the protocol guide, "Protocol Primitive Types"; KIP-482 (compact forms, tagged fields).
"""

from __future__ import annotations

import struct
import uuid as _uuid
from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

from kafka_protocol.errors import DecodeError, EncodeError

T = TypeVar("T")
Piece: TypeAlias = "bytes | bytearray | memoryview"
Out: TypeAlias = "list[Piece]"
Reader: TypeAlias = "Callable[[memoryview, int], tuple[T, int]]"
Writer: TypeAlias = "Callable[[Out, T], None]"

ZERO_UUID: Final = _uuid.UUID(int=0)
MAX_INT32: Final = 2**31 - 1
MAX_UINT32: Final = 2**32 - 1
MAX_INT64: Final = 2**63 - 1
MIN_INT64: Final = -(2**63)


def _fixed(layout: str, kind: str) -> tuple[Reader[int], Writer[int]]:
    """Reader and writer of one big-endian number."""
    packed = struct.Struct(">" + layout)
    size, unpack_from, pack = packed.size, packed.unpack_from, packed.pack

    def read(buf: memoryview, pos: int) -> tuple[int, int]:
        try:
            return unpack_from(buf, pos)[0], pos + size
        except struct.error:
            raise DecodeError(f"{kind} is cut short: {len(buf) - pos} of {size} bytes") from None

    def write(out: Out, value: int) -> None:
        try:
            out.append(pack(value))
        except struct.error:
            raise EncodeError(f"{value!r} is not a value of {kind}") from None

    return read, write


read_int8, write_int8 = _fixed("b", "int8")
read_int16, write_int16 = _fixed("h", "int16")
read_int32, write_int32 = _fixed("i", "int32")
read_int64, write_int64 = _fixed("q", "int64")
read_uint16, write_uint16 = _fixed("H", "uint16")
read_uint32, write_uint32 = _fixed("I", "uint32")

read_float64, write_float64 = _fixed("d", "float64")


def read_boolean(buf: memoryview, pos: int) -> tuple[bool, int]:
    """One byte; Java takes everything but 0 for true."""
    value, pos = read_int8(buf, pos)
    return value != 0, pos


def write_boolean(out: Out, value: bool) -> None:
    """One byte, 0 or 1."""
    out.append(b"\x01" if value else b"\x00")


def read_uuid(buf: memoryview, pos: int) -> tuple[_uuid.UUID, int]:
    """16 bytes; all zero stands for "none"."""
    end = pos + 16
    if end > len(buf):
        raise DecodeError(f"uuid is cut short: {len(buf) - pos} of 16 bytes")
    return _uuid.UUID(bytes=bytes(buf[pos:end])), end


def write_uuid(out: Out, value: _uuid.UUID) -> None:
    """16 bytes."""
    out.append(value.bytes)


# --- Variable-length numbers (7 bits a byte, the lowest first) ---------------------------------


def _read_unsigned(buf: memoryview, pos: int, bits: int) -> tuple[int, int]:
    value = shift = 0
    while shift < bits:
        try:
            byte = buf[pos]
        except IndexError:
            raise DecodeError("varint is cut short") from None
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            # Java ignores the overflow; here it is an error, because the sender is faulty.
            if value >> bits:
                raise DecodeError(f"varint does not fit {bits} bits")
            return value, pos
        shift += 7
    raise DecodeError(f"varint is longer than {bits} bits need")


def _unsigned_bytes(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_unsigned_varint(buf: memoryview, pos: int) -> tuple[int, int]:
    """An unsigned 32-bit number in 1 to 5 bytes."""
    # The lengths of compact strings are nearly always below 128.
    if pos < len(buf) and (byte := buf[pos]) < 0x80:
        return byte, pos + 1
    return _read_unsigned(buf, pos, 32)


def write_unsigned_varint(out: Out, value: int) -> None:
    """An unsigned 32-bit number in 1 to 5 bytes."""
    if not 0 <= value <= MAX_UINT32:
        raise EncodeError(f"{value!r} is not an unsigned varint")
    out.append(_unsigned_bytes(value))


def read_varint(buf: memoryview, pos: int) -> tuple[int, int]:
    """A signed 32-bit number, zigzag, in 1 to 5 bytes."""
    value, pos = _read_unsigned(buf, pos, 32)
    return (value >> 1) ^ -(value & 1), pos


def write_varint(out: Out, value: int) -> None:
    """A signed 32-bit number, zigzag, in 1 to 5 bytes."""
    if not -MAX_INT32 - 1 <= value <= MAX_INT32:
        raise EncodeError(f"{value!r} is not a varint")
    out.append(_unsigned_bytes((value << 1) ^ (value >> 31)))


def read_varlong(buf: memoryview, pos: int) -> tuple[int, int]:
    """A signed 64-bit number, zigzag, in 1 to 10 bytes."""
    value, pos = _read_unsigned(buf, pos, 64)
    return (value >> 1) ^ -(value & 1), pos


def write_varlong(out: Out, value: int) -> None:
    """A signed 64-bit number, zigzag, in 1 to 10 bytes."""
    if not MIN_INT64 <= value <= MAX_INT64:
        raise EncodeError(f"{value!r} is not a varlong")
    out.append(_unsigned_bytes((value << 1) ^ (value >> 63)))


# --- Lengths -----------------------------------------------------------------------------------
# A length of -1 (compact: 0) is null, read as None; fields that are not nullable reject it.


def _length_reader(read_length: Reader[int], offset: int, kind: str) -> Reader[int | None]:
    """Reads a length, minus `offset` (compact lengths are written plus one)."""

    def read(buf: memoryview, pos: int) -> tuple[int | None, int]:
        length, pos = read_length(buf, pos)
        length -= offset
        if length == -1:
            return None, pos
        # Every element has at least one byte, so the count cannot exceed the bytes left.
        if length < 0 or length > len(buf) - pos:
            raise DecodeError(f"{kind} of length {length} with {len(buf) - pos} bytes left")
        return length, pos

    return read


def _length_writer(write_length: Writer[int], offset: int) -> Writer[int | None]:
    def write(out: Out, length: int | None) -> None:
        write_length(out, (-1 if length is None else length) + offset)

    return write


read_string_length = _length_reader(read_int16, 0, "string")
write_string_length = _length_writer(write_int16, 0)
read_bytes_length = _length_reader(read_int32, 0, "bytes")
write_bytes_length = _length_writer(write_int32, 0)
read_array_length = _length_reader(read_int32, 0, "array")
write_array_length = _length_writer(write_int32, 0)
read_compact_length = _length_reader(read_unsigned_varint, 1, "compact field")
write_compact_length = _length_writer(write_unsigned_varint, 1)


# --- Strings and bytes -------------------------------------------------------------------------


def _string(
    read_length: Reader[int | None], write_length: Writer[int | None]
) -> tuple[Reader[str | None], Writer[str | None]]:
    def read(buf: memoryview, pos: int) -> tuple[str | None, int]:
        length, pos = read_length(buf, pos)
        if length is None:
            return None, pos
        end = pos + length
        try:
            return str(buf[pos:end], "utf-8"), end
        except UnicodeDecodeError:
            raise DecodeError(f"string of {length} bytes is not UTF-8") from None

    def write(out: Out, value: str | None) -> None:
        if value is None:
            write_length(out, None)
            return
        try:
            encoded = value.encode()
        except UnicodeEncodeError:
            raise EncodeError("string has a lone surrogate, which UTF-8 cannot encode") from None
        write_length(out, len(encoded))
        out.append(encoded)

    return read, write


read_nullable_string, write_nullable_string = _string(read_string_length, write_string_length)
read_compact_nullable_string, write_compact_nullable_string = _string(
    read_compact_length, write_compact_length
)


def _bytes(
    read_length: Reader[int | None], write_length: Writer[int | None]
) -> tuple[Reader[memoryview | None], Writer[Piece | None]]:
    def read(buf: memoryview, pos: int) -> tuple[memoryview | None, int]:
        length, pos = read_length(buf, pos)
        if length is None:
            return None, pos
        end = pos + length
        return buf[pos:end], end

    def write(out: Out, value: Piece | None) -> None:
        if value is None:
            write_length(out, None)
            return
        write_length(out, len(value))
        out.append(value)

    return read, write


# Read without a copy: the result is a view of the frame.
read_nullable_bytes, write_nullable_bytes = _bytes(read_bytes_length, write_bytes_length)
read_compact_nullable_bytes, write_compact_nullable_bytes = _bytes(
    read_compact_length, write_compact_length
)
