"""Frames and headers, around each message on the wire.

A frame is a 4-byte size and that many bytes: a header (v0 to v2 for requests, v0 and v1 for
responses) and the body that `codec` reads and writes. `connection` matches responses to requests,
not this module. It knows no API, except for the protocol's two special cases. Sources: protocol
guide, "Common Request and Response Structure"; KIP-482; KIP-511.
"""

from __future__ import annotations

import struct
from typing import Final

from kafka_protocol.errors import DecodeError, EncodeError, ProtocolError
from kafka_protocol.wire import primitives as p
from kafka_protocol.wire.api_keys import ApiKey
from kafka_protocol.wire.codec import write_message
from kafka_protocol.wire.primitives import Out
from kafka_protocol.wire.schema import Message, Request

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
    if message.api_key == ApiKey.API_VERSIONS:  # point: api-versions-header
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


# Frames from this size on are received in memory of their own; smaller ones are cut out of the
# bytes that were read.
_OWN_MEMORY_FROM: Final = 64 * 1024
# A stated size may be a lie. So much is allocated by it alone, then a multiple of the received
# bytes. The system gives the pages when they are written.
_ALLOCATED_AT_ONCE: Final = 16 * 1024 * 1024
_GROWTH: Final = 16
# Clearing memory takes half as long as receiving into it, if it does not fit in the cache. Smaller
# frames are bytearrays, so that planning does not import numpy.
_NOT_CLEARED_FROM: Final = 1024 * 1024


class FrameBuffer:
    """Splits a stream of bytes into frames of at most `max_frame_bytes`, without their size.

    The memory of a frame is written once and never used for another frame. Python frees it with the
    last reference to the frame. Connections share no memory, so threads may receive at the same
    time, each from its own connection.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._size: int | None = None
        self._buffered = 0
        # The current frame with its size, if it is large, and how much of it is filled.
        self._memory: memoryview | None = None
        self._filled = 0
        # The bytes that were received after that.
        self._chunks: list[bytes] = []

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
        self._buffered += len(data)
        self._chunks.append(data[self._fill(data) :])

    @property
    def receive_buffer(self) -> memoryview | None:
        """Memory for missing bytes of the frame, or None: pass them to `receive_data` then."""
        return None if self._memory is None else self._memory[self._filled :] or None

    def bytes_received(self, count: int) -> None:
        """Count bytes that were written to the beginning of `receive_buffer`."""
        self._filled += count
        self._buffered += count

    def next_frame(self) -> memoryview | None:
        """The next whole frame without its size, or None while bytes are missing.

        Raises:
            ProtocolError: The size is impossible; checked before the frame is received.
        """
        if self._size is None:
            if self._buffered < 4:
                return None
            self._size = self._read_size()
        end = 4 + self._size
        if self._buffered < end:
            if end >= _OWN_MEMORY_FROM and not self.receive_buffer:
                self._allocate(min(end, max(_ALLOCATED_AT_ONCE, _GROWTH * self._buffered)))
            return None
        if self._memory is not None and self._filled < end:
            self._allocate(end)
        received = self._join()
        frame = memoryview(received)[:end] if self._memory is None else self._memory
        rest = received[end - self._filled :]
        self._chunks, self._buffered = [rest], len(rest)
        self._size, self._memory, self._filled = None, None, 0
        return frame[4:].toreadonly()

    def _join(self) -> bytes:
        if len(self._chunks) != 1:
            self._chunks = [b"".join(self._chunks)]
        return self._chunks[0]

    def _allocate(self, size: int) -> None:
        """Allocate memory for the first `size` bytes of the frame, and copy the received bytes."""
        before = b"" if self._memory is None else self._memory[: self._filled]
        received = self._join()
        self._memory, self._filled = _new_memory(size), 0  # point: receive-buffers
        self._fill(before)
        self._chunks = [received[self._fill(received) :]]

    def _fill(self, data: bytes | memoryview) -> int:
        """Copy the beginning of `data` into the rest of the frame's memory; returns how much."""
        if self._memory is None:
            return 0
        count = min(len(data), len(self._memory) - self._filled)
        self._memory[self._filled : self._filled + count] = data[:count]
        self._filled += count
        return count

    def _read_size(self) -> int:
        prefix = self._join()[:4]
        size: int = _SIZE.unpack(prefix)[0]
        if not 4 <= size <= self._max_frame_bytes:
            raise _size_error(prefix, size, self._max_frame_bytes)
        return size


def _new_memory(size: int) -> memoryview:
    if size < _NOT_CLEARED_FROM:
        return memoryview(bytearray(size))
    import numpy as np  # noqa: PLC0415

    return np.empty(size, np.uint8).data
