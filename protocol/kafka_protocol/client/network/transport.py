"""A connected stream, TCP or TLS, with deadlines. Turns every `OSError` into a `KafkaError`.

A deadline covers a whole call, however slowly the bytes arrive. Knows nothing of Kafka's
protocol; everything special about TLS is in `tls_stream`.
"""

from __future__ import annotations

import selectors
import socket
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Protocol, TypeVar

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.errors import BrokerConnectionError, KafkaError, KafkaTimeoutError
from kafka_protocol.wire.primitives import Piece

T = TypeVar("T")

# Enough to read a Fetch response in few calls; the kernel returns the bytes that it has.
_MAX_READ_BYTES: Final = 1024 * 1024
_JOIN_BELOW_BYTES: Final = 64 * 1024


class ClosedByPeerError(BrokerConnectionError):
    """The peer closed or reset the connection."""


def tcp_error(error: OSError, address: Address) -> KafkaError:
    """The error for an `OSError` of a TCP connection."""
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return ClosedByPeerError(f"{address} reset the connection")
    return BrokerConnectionError(f"the connection to {address} broke: {error.strerror or error}")


class Stream(Protocol):
    """A connected stream of bytes."""

    def write(self, pieces: Iterable[Piece], deadline: Deadline) -> None:
        """Write all pieces in order.

        Raises:
            BrokerConnectionError: The connection broke; how much was written is unknown.
            KafkaTimeoutError: The deadline passed; how much was written is unknown.
        """

    def read(self, wanted_bytes: int, deadline: Deadline) -> bytes:
        """Wait for at least one byte, and read the bytes that are available.

        `wanted_bytes` is a hint; the result may be longer.

        Raises:
            ClosedByPeerError: The peer closed the connection.
            BrokerConnectionError: The connection broke.
            KafkaTimeoutError: The deadline passed.
        """

    def read_into(self, buffer: memoryview, deadline: Deadline) -> int:
        """Read as `read` does, into the caller's buffer; returns how many bytes, at least one."""

    @property
    def has_buffered_data(self) -> bool:
        """Whether a read would find bytes or the end of the stream. Never waits."""

    def close(self) -> None:
        """Close the stream; safe to call again."""


class Transport:
    """A `Stream` on a socket, which it owns from now on.

    `explain` makes our error from an `OSError` of this kind of socket; `max_read_bytes` is the most
    that one read can return.
    """

    def __init__(
        self,
        sock: socket.socket,
        address: Address,
        explain: Callable[[OSError, Address], KafkaError] = tcp_error,
        max_read_bytes: int = _MAX_READ_BYTES,
    ) -> None:
        self._sock = sock
        self._address = address
        self._explain = explain
        self._max_read_bytes = max_read_bytes

    def __repr__(self) -> str:
        state = "closed" if self._sock.fileno() < 0 else "open"
        return f"<Transport to {self._address}, {state}>"

    def write(self, pieces: Iterable[Piece], deadline: Deadline) -> None:
        """Write all pieces in order. Raises as `Stream.write`."""
        for chunk in _join_small(pieces):
            rest = memoryview(chunk)
            # Not `sendall`: with TLS it starts the time-out again for each 16 KiB.
            while rest:
                # point: write-timeout
                rest = rest[self._call(deadline, "write to", partial(self._sock.send, rest)) :]

    def read(self, wanted_bytes: int, deadline: Deadline) -> bytes:
        """Read the bytes that are available, at least one. Raises as `Stream.read`."""
        size = min(max(wanted_bytes, 4096), self._max_read_bytes)
        data = self._call(deadline, "read from", lambda: self._sock.recv(size))
        if not data:
            raise ClosedByPeerError(f"{self._address} closed the connection")
        return data

    def read_into(self, buffer: memoryview, deadline: Deadline) -> int:
        """Read as `read` does, into the caller's buffer; returns how many bytes, at least one."""
        target = buffer[: self._max_read_bytes]
        count = self._call(deadline, "read from", lambda: self._sock.recv_into(target))
        if not count:
            raise ClosedByPeerError(f"{self._address} closed the connection")
        return count

    @property
    def has_buffered_data(self) -> bool:
        """Whether a read would find bytes or the end of the stream. Never waits.

        Bytes that TLS has already decrypted are not seen.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(self._sock, selectors.EVENT_READ)
            return bool(selector.select(0))

    def close(self) -> None:
        """Close the stream; safe to call again."""
        self._sock.close()

    def _call(self, deadline: Deadline, verb: str, operation: Callable[[], T]) -> T:
        try:
            # A time-out of 0 would make the socket non-blocking.
            self._sock.settimeout(max(0.001, deadline.remaining_ms / 1000))
            return operation()
        except TimeoutError:
            raise KafkaTimeoutError(f"the time to {verb} {self._address} ran out") from None
        except OSError as error:
            if self._sock.fileno() < 0:
                raise BrokerConnectionError(
                    f"the connection to {self._address} is closed: another request on it failed"
                ) from None
            raise self._explain(error, self._address) from error


def _join_small(pieces: Iterable[Piece]) -> Iterable[Piece]:
    """Join small pieces into few large ones; large pieces are not copied."""
    small: list[Piece] = []
    for piece in pieces:
        if len(piece) < _JOIN_BELOW_BYTES:
            small.append(piece)
            continue
        if small:
            yield b"".join(small)
            small = []
        yield piece
    if small:
        yield b"".join(small)
