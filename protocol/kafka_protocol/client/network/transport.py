"""Streams with deadlines: TCP, and TLS on it. Every `OSError` becomes one of our exceptions here.

A deadline covers a whole call, however many bytes trickle in meanwhile. Nothing of Kafka's
protocol is known here. What is special about TLS stands in `tls_stream`.
"""

from __future__ import annotations

import errno
import selectors
import socket
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, NoReturn, TypeVar

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.errors import BrokerConnectionError, KafkaError, KafkaTimeoutError
from kafka_protocol.primitives import Piece

T = TypeVar("T")

# Enough for a whole Fetch answer in few reads; the kernel hands out what it has.
_MAX_READ_BYTES: Final = 1024 * 1024
_JOIN_BELOW_BYTES: Final = 64 * 1024


class ClosedByPeerError(BrokerConnectionError):
    """The peer closed or reset the connection."""


def broken(error: OSError, address: Address) -> KafkaError:
    """What became of a connection."""
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return ClosedByPeerError(f"{address} reset the connection")
    return BrokerConnectionError(f"the connection to {address} broke: {error.strerror or error}")


class Transport:
    """A connected stream.

    Args:
        sock: A connected socket, owned from now on.
        address: For errors.
        explain: What an `OSError` of this kind of socket means.
        max_read_bytes: The most that one read can bring.
    """

    def __init__(
        self,
        sock: socket.socket,
        address: Address,
        explain: Callable[[OSError, Address], KafkaError] = broken,
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
        """Write all pieces in order.

        Raises:
            BrokerConnectionError: The connection broke; how much was written is unknown.
            KafkaTimeoutError: The deadline passed; likewise.
        """
        for chunk in _join_small(pieces):
            rest = memoryview(chunk)
            # Not `sendall`: with TLS it gives each 16 KiB the whole time once more.
            while rest:
                rest = rest[self._within(deadline, "write to", partial(self._sock.send, rest)) :]

    def read(self, wanted_bytes: int, deadline: Deadline) -> bytes:
        """Read what is there, once at least one byte is.

        Args:
            wanted_bytes: How many bytes make sense, as a hint; more may come.
            deadline: How long to wait for the first byte.

        Raises:
            ClosedByPeerError: The peer closed the connection.
            BrokerConnectionError: The connection broke.
            KafkaTimeoutError: The deadline passed.
        """
        size = min(max(wanted_bytes, 4096), self._max_read_bytes)
        data = self._within(deadline, "read from", lambda: self._sock.recv(size))
        if not data:
            raise ClosedByPeerError(f"{self._address} closed the connection")
        return data

    def read_into(self, room: memoryview, deadline: Deadline) -> int:
        """Read what is there, as `read` does, to where the caller wants it.

        Returns:
            How many bytes came, at least one.
        """
        wanted = room[: self._max_read_bytes]
        count = self._within(deadline, "read from", lambda: self._sock.recv_into(wanted))
        if not count:
            raise ClosedByPeerError(f"{self._address} closed the connection")
        return count

    @property
    def has_come(self) -> bool:
        """Whether a read would find something, if only the end of the stream. Never waits.

        What TLS holds back, having unpacked it, is not seen.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(self._sock, selectors.EVENT_READ)
            return bool(selector.select(0))

    def close(self) -> None:
        """Close the stream; safe to call again."""
        self._sock.close()

    def _within(self, deadline: Deadline, what: str, operation: Callable[[], T]) -> T:
        try:
            # A time-out of 0 would mean "do not block" to the socket.
            self._sock.settimeout(max(0.001, deadline.remaining_ms / 1000))
            return operation()
        except TimeoutError:
            raise KafkaTimeoutError(f"the time to {what} {self._address} ran out") from None
        except OSError as error:
            raise self._explain(error, self._address) from error


def _join_small(pieces: Iterable[Piece]) -> Iterable[Piece]:
    """Few large writes instead of many small ones, without copying what is large anyway."""
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


def connect(address: Address, security: SecurityOptions, deadline: Deadline) -> Transport:
    """Connect to an address, trying each IP address behind its name; TLS where it is asked for.

    Looking the name up takes as long as the system's resolver takes; it has no deadline.

    Raises:
        BrokerConnectionError: The name cannot be resolved, or nobody accepts. Says which.
        KafkaTimeoutError: The TLS handshake did not end in time.
        TlsError: The two sides cannot agree, or one does not trust the other.
        KafkaConfigError: A file that TLS needs cannot be used.
    """
    sock = _connect_tcp(address, deadline)
    if not security.uses_tls:
        return Transport(sock, address)
    # Only who uses TLS waits for the import of `ssl`.
    from kafka_protocol.client.network.tls_stream import secured  # noqa: PLC0415

    return secured(sock, address, security, deadline)


def _connect_tcp(address: Address, deadline: Deadline) -> socket.socket:
    if not 0 < address.port < 65536:
        raise BrokerConnectionError(f"{address}: no port has that number")
    try:
        candidates = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise BrokerConnectionError(
            f"{address}: the host name cannot be resolved ({error})"
        ) from error
    reasons: list[str] = []
    for i, (family, kind, protocol, _, sockaddr) in enumerate(candidates):
        share_ms = deadline.remaining_ms / (len(candidates) - i)
        try:
            # Making a socket can fail too: no IPv6 in this kernel, no file descriptor left.
            sock = socket.socket(family, kind, protocol)
        except OSError as error:
            reasons.append(_reason(error, share_ms))
            continue
        try:
            sock.settimeout(max(0.001, share_ms / 1000))
            sock.connect(sockaddr)
            # Small requests must not wait for the acknowledgement of earlier ones.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            sock.close()
            reasons.append(_reason(error, share_ms))
            continue
        return sock
    _give_up(address, reasons)


def _reason(error: OSError, waited_ms: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {waited_ms:.0f} ms"
    if error.errno == errno.ECONNREFUSED:
        return "connection refused"
    return error.strerror or str(error)


def _give_up(address: Address, reasons: list[str]) -> NoReturn:
    unique = ", ".join(dict.fromkeys(reasons)) or "the name has no address"
    raise BrokerConnectionError(f"{address}: {unique}")
