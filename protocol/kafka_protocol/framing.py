"""Frames and headers, around each message on the wire.

A frame is a 4-byte size and that many bytes: a header (v0 to v2 for requests, v0 and v1 for
responses) and the body that `codec` reads and writes. `connection` matches responses to requests,
not this module. It knows no API, except for the protocol's two special cases. Sources: protocol
guide, "Common Request and Response Structure"; KIP-482; KIP-511.
"""

from __future__ import annotations

import struct
from typing import Final

from kafka_protocol import primitives as p
from kafka_protocol.api_keys import ApiKey
from kafka_protocol.codec import write_message
from kafka_protocol.errors import DecodeError, EncodeError, ProtocolError
from kafka_protocol.primitives import Out
from kafka_protocol.schema import Message, Request

_SIZE: Final = struct.Struct(">i")
# In every request, after the size, the API key and its version.
_CORRELATION_ID_AT: Final = 8


def request_header_version(message: type[Message], version: int) -> int:
    """0 (no client id; ControlledShutdown v0 only), 1, or 2 (tagged fields)."""
    if message.api_key == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
        return 0
    return 2 if version in message.flexible else 1


def response_header_version(message: type[Message], version: int) -> int:
    """0, or 1 (tagged fields); always 0 for ApiVersions, which has no negotiated version yet."""
    if message.api_key == ApiKey.API_VERSIONS:
        return 0
    return 1 if version in message.flexible else 0


def encode_request(request: Request, version: int, correlation_id: int, client_id: str) -> Out:
    """The frame of a request, as pieces to send in order; payloads are not copied.

    Raises:
        EncodeError: A value does not fit, or the frame would not fit in 2 GiB.
        UnsupportedVersionError: The request has no such version.
    """
    header_version = request_header_version(type(request), version)
    frame: Out = [b""]
    p.write_int16(frame, request.api_key)
    p.write_int16(frame, version)
    p.write_int32(frame, correlation_id)
    if header_version >= 1:
        # Never compact, so that a broker can read it in a version that it lacks.
        p.write_nullable_string(frame, client_id)
    if header_version >= 2:
        p.write_unsigned_varint(frame, 0)
    write_message(request, version, frame)
    size = sum(map(len, frame))
    if size > p.MAX_INT32:
        raise EncodeError(f"{request.api_name} request of {size} bytes does not fit in a frame")
    frame[0] = _SIZE.pack(size)
    return frame


def with_correlation_id(frame: bytes, correlation_id: int) -> Out:
    """A request's frame with another correlation id, as pieces."""
    pieces: Out = [frame[:_CORRELATION_ID_AT]]
    p.write_int32(pieces, correlation_id)
    return [*pieces, frame[_CORRELATION_ID_AT + 4 :]]


def read_response_header(frame: memoryview, header_version: int) -> tuple[int, int]:
    """The correlation id, and the position of the body.

    Raises:
        DecodeError: The frame is shorter than its header.
    """
    correlation_id, pos = p.read_int32(frame, 0)
    if header_version >= 1:
        pos = _skip_tagged_fields(frame, pos)
    return correlation_id, pos


def _skip_tagged_fields(frame: memoryview, pos: int) -> int:
    count, pos = p.read_unsigned_varint(frame, pos)
    for _ in range(count):
        _, pos = p.read_unsigned_varint(frame, pos)
        size, pos = p.read_unsigned_varint(frame, pos)
        pos += size
        if pos > len(frame):
            raise DecodeError("a tagged field of a response header is truncated")
    return pos


# The first bytes of other protocols, for a wrong port: they are read as a frame's size.
_OTHER_PROTOCOLS: Final = {
    b"HTTP": "an HTTP server answered; is the port right?",
    b"SSH-": "an SSH server answered; is the port right?",
}


def _size_error(prefix: bytes, size: int, highest: int) -> ProtocolError:
    if prefix in _OTHER_PROTOCOLS:
        return ProtocolError(_OTHER_PROTOCOLS[prefix])
    # A TLS alert or handshake record: type 21 or 22, then protocol version 3.x.
    if prefix[:2] in (b"\x15\x03", b"\x16\x03"):
        return ProtocolError("the port speaks TLS; set kafka.security.protocol to SSL or SASL_SSL")
    return ProtocolError(
        f"received a frame of {size} bytes, accepted are 4 to {highest} "
        "(kafka.receive.message.max.bytes); is this a Kafka broker?"
    )


# Frames from this size on are received in memory of their own; smaller ones are cut out of what
# was read.
_OWN_MEMORY_FROM: Final = 64 * 1024
# How much is allocated by a stated size alone; then as much again as was received.
_ALLOCATED_AT_ONCE: Final = 16 * 1024 * 1024


class FrameBuffer:
    """Splits a stream of bytes into frames of at most `max_frame_bytes`, without their size.

    The memory of a frame is written once and never used again: whoever refers to a frame keeps it,
    and the last one frees it. Nothing is shared with other connections, so threads may receive at
    the same time, each from a connection of its own.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        # What was received and not returned, in order. The last piece may be a part of `_open`.
        self._pieces: list[bytes | memoryview] = []
        self._buffered = 0
        self._size: int | None = None
        # The memory in which the current frame is received, and how many bytes of it are filled.
        self._open: memoryview | None = None
        self._filled = 0

    def __repr__(self) -> str:
        return f"<FrameBuffer {self._buffered} of {self._size} bytes>"

    @property
    def missing_bytes(self) -> int:
        """The number of missing bytes of the current frame; at least 1."""
        wanted = 4 if self._size is None else 4 + self._size
        return max(1, wanted - self._buffered)

    @property
    def has_buffered_data(self) -> bool:
        """Whether received bytes were not returned in a frame yet."""
        return self._buffered > 0

    def receive_data(self, data: bytes) -> None:
        """Store bytes that were read, without parsing them."""
        if self._open is not None:
            count = min(len(data), len(self._open) - self._filled)
            self._open[self._filled : self._filled + count] = data[:count]
            self.bytes_received(count)
            data = data[count:]
        if data:
            self._pieces.append(data)
            self._buffered += len(data)

    @property
    def receive_buffer(self) -> memoryview | None:
        """Memory for missing bytes of the frame, or None: pass them to `receive_data` then."""
        return None if self._open is None else self._open[self._filled :]

    def bytes_received(self, count: int) -> None:
        """Count bytes that were written to the beginning of `receive_buffer`."""
        self._filled += count
        self._buffered += count
        if self._open is not None and self._filled == len(self._open):
            self._pieces.append(self._open)
            self._open = None

    def next_frame(self) -> memoryview | None:
        """The next whole frame without its size, or None while bytes are missing.

        Raises:
            ProtocolError: The size is impossible; checked before the frame is received.
        """
        if self._size is None:
            if self._buffered < 4:
                return None
            self._join()
            self._size = self._read_size()
        end = 4 + self._size
        if self._buffered < end:
            self._allocate(end)
            return None
        self._join()
        data = memoryview(self._pieces[0])
        frame, rest = data[4:end].toreadonly(), bytes(data[end:])
        self._pieces = [rest] if rest else []
        self._buffered = len(rest)
        self._size = None
        return frame

    def _join(self) -> None:
        if len(self._pieces) > 1:
            self._pieces = [b"".join(self._pieces)]

    def _allocate(self, end: int) -> None:
        """Allocate memory for a large frame, at most as much again as was received of it.

        The size may be a lie, so only a part of a very large one is allocated by it alone.
        """
        if self._open is not None or end < _OWN_MEMORY_FROM:
            return
        allowed = max(_ALLOCATED_AT_ONCE, self._buffered)
        if self._buffered < _ALLOCATED_AT_ONCE:
            # The first memory has the start of the frame, too: most frames need no other.
            self._open = memoryview(bytearray(min(end, allowed)))
            self._filled = 0
            received, self._pieces, self._buffered = b"".join(self._pieces), [], 0
            self.receive_data(received)
        else:
            self._open = memoryview(bytearray(min(end - self._buffered, allowed)))
            self._filled = 0

    def _read_size(self) -> int:
        prefix = bytes(self._pieces[0][:4])
        size: int = _SIZE.unpack(prefix)[0]
        if not 4 <= size <= self._max_frame_bytes:
            raise _size_error(prefix, size, self._max_frame_bytes)
        return size
