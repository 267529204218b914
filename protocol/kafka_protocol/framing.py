"""Frames and headers: what stands around a message on the wire.

A frame is a 4-byte size and that many bytes: a header (v0 to v2 for requests, v0 and v1 for
responses) and the body that `codec` reads and writes. No correlation of answers to questions
here (`connection` does that), no message in particular but for the two exceptions that the
protocol itself makes. Sources: protocol guide, "Common Request and Response Structure"; KIP-482;
KIP-511.
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
# Behind the size, the API key and its version, in every request.
_CORRELATION_ID_AT: Final = 8


def request_header_version(message: type[Message], version: int) -> int:
    """0 (no client id; one ancient request), 1, or 2 (tagged fields)."""
    if message.api_key == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
        return 0
    return 2 if version in message.flexible else 1


def response_header_version(message: type[Message], version: int) -> int:
    """0, or 1 (tagged fields); always 0 for ApiVersions, whose reader may not know the version."""
    if message.api_key == ApiKey.API_VERSIONS:
        return 0
    return 1 if version in message.flexible else 0


def encode_request(request: Request, version: int, correlation_id: int, client_id: str) -> Out:
    """A whole frame, as pieces to send in order; payloads are not copied.

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
        # Never compact: a broker must be able to read it whatever the version.
        p.write_nullable_string(frame, client_id)
    if header_version >= 2:
        p.write_unsigned_varint(frame, 0)
    write_message(request, version, frame)
    size = sum(map(len, frame))
    if size > p.MAX_INT32:
        raise EncodeError(f"{request.api_name} request of {size} bytes does not fit in a frame")
    frame[0] = _SIZE.pack(size)
    return frame


def renumber(frame: bytes, correlation_id: int) -> Out:
    """The frame of a request, to be sent again under another correlation id."""
    renumbered: Out = [frame[:_CORRELATION_ID_AT]]
    p.write_int32(renumbered, correlation_id)
    return [*renumbered, frame[_CORRELATION_ID_AT + 4 :]]


def read_response_header(frame: memoryview, header_version: int) -> tuple[int, int]:
    """The correlation id, and where the body begins.

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
            raise DecodeError("a response header's tagged field is cut short")
    return pos


# What speaks instead of Kafka where a port is wrong: the first bytes, read as a frame's size.
_STRANGERS: Final = {
    b"HTTP": "an HTTP server answered; is the port right?",
    b"SSH-": "an SSH server answered; is the port right?",
}


def _refuse_size(prefix: bytes, size: int, highest: int) -> ProtocolError:
    if prefix in _STRANGERS:
        return ProtocolError(_STRANGERS[prefix])
    # A TLS alert or handshake record: type 21 or 22, then protocol version 3.x.
    if prefix[:2] in (b"\x15\x03", b"\x16\x03"):
        return ProtocolError("the port speaks TLS; set kafka.security.protocol to SSL or SASL_SSL")
    return ProtocolError(
        f"a frame of {size} bytes was announced, and 4 to {highest} are accepted "
        "(kafka.receive.message.max.bytes); is this a Kafka broker?"
    )


# Buffers of this size are used again; smaller ones cost nothing, and larger ones are rare.
_KEPT_FROM_BYTES: Final = 64 * 1024
_KEPT_UP_TO_BYTES: Final = 16 * 1024 * 1024


def _is_free(buffer: bytearray) -> bool:
    """Whether nobody looks at a buffer: Python refuses to resize one that somebody does."""
    try:
        buffer.append(0)
    except BufferError:
        return False
    buffer.pop()
    return True


class FrameBuffer:
    """Cuts a stream of bytes into frames.

    Args:
        max_frame_bytes: The largest frame to accept, without its 4 size bytes.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._chunks: list[bytes | bytearray] = []
        self._buffered = 0
        self._size: int | None = None
        self._frame: memoryview | None = None  # of a buffer that is used again
        self._used: list[bytearray] = []

    def __repr__(self) -> str:
        return f"<FrameBuffer {self._buffered} of {self._size} bytes>"

    @property
    def missing_bytes(self) -> int:
        """How many bytes the frame that is being received still lacks; at least 1."""
        wanted = 4 if self._size is None else 4 + self._size
        return max(1, wanted - self._buffered)

    @property
    def has_come(self) -> bool:
        """Whether there are bytes of a frame that is not taken yet."""
        return self._buffered > 0

    def receive_data(self, data: bytes) -> None:
        """Add bytes as they came; nothing is parsed here."""
        self._chunks.append(data)
        self._buffered += len(data)

    @property
    def room(self) -> memoryview | None:
        """Where the missing bytes can be put directly; None where they have to be received."""
        return self._frame[self._buffered :] if self._frame and not self._chunks else None

    def received(self, count: int) -> None:
        """Count bytes that were put in `room`, from its beginning on."""
        self._buffered += count

    def next_frame(self) -> memoryview | None:
        """The next whole frame without its size, or None while bytes are missing.

        Raises:
            ProtocolError: The announced size is impossible; checked before it is waited for.
        """
        if self._size is None:
            if self._buffered < 4:
                return None
            self._join()
            self._size = self._read_size()
        end = 4 + self._size
        if self._frame is None:
            self._use_again(end)
        if self._buffered < end:
            return None
        whole, rest = self._whole(end)
        self._chunks = [rest] if rest else []
        self._buffered = len(rest)
        self._size = self._frame = None
        return whole[4:].toreadonly()

    def _join(self) -> None:
        if len(self._chunks) > 1:
            self._chunks = [b"".join(self._chunks)]

    def _use_again(self, end: int) -> None:
        """Receive the rest of a frame in a buffer that is large enough and free, if there is one.

        A new one costs as much as reading does, since its pages do not exist yet. None is made
        before all bytes of a frame are there: a size is soon announced.
        """
        if self._buffered >= end or end < _KEPT_FROM_BYTES:
            return
        free = next((used for used in self._used if len(used) >= end and _is_free(used)), None)
        if free is not None:
            self._frame = memoryview(free)[:end]
            self._frame[: self._buffered] = b"".join(self._chunks)
            self._chunks = []

    def _whole(self, end: int) -> tuple[memoryview, bytes]:
        """The frame with its size in front, and what was received behind it."""
        if self._frame is not None:
            came = b"".join(self._chunks)
            filled = self._buffered - len(came)
            self._frame[filled:end] = came[: end - filled]
            return self._frame, came[end - filled :]
        if _KEPT_FROM_BYTES <= end <= _KEPT_UP_TO_BYTES:
            joined = bytearray().join(self._chunks)
            self._used = [*self._used[-1:], joined]
            self._chunks = [joined]
        self._join()
        data = memoryview(self._chunks[0])
        return data[:end], bytes(data[end:])

    def _read_size(self) -> int:
        prefix = bytes(self._chunks[0][:4])
        size: int = _SIZE.unpack(prefix)[0]
        if not 4 <= size <= self._max_frame_bytes:
            raise _refuse_size(prefix, size, self._max_frame_bytes)
        return size
