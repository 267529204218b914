"""TCP and TLS streams with deadlines. Every `OSError` becomes one of our exceptions here.

A deadline covers a whole call, however many bytes trickle in meanwhile. Nothing of Kafka's
protocol is known here.
"""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, NoReturn, TypeVar

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config import Address
from kafka_protocol.client.security_options import SecurityOptions
from kafka_protocol.client.tls import check_suite, client_context, tls_error
from kafka_protocol.errors import BrokerConnectionError, KafkaTimeoutError, TlsError
from kafka_protocol.primitives import Piece

T = TypeVar("T")

# Enough for a whole Fetch answer in few reads; the kernel hands out what it has.
_MAX_READ_BYTES: Final = 1024 * 1024
# TLS hands out one record at a time, of 16 KiB at the most, whatever is asked for.
_MAX_TLS_READ_BYTES: Final = 16 * 1024
_JOIN_BELOW_BYTES: Final = 64 * 1024


# The ways in which the other side goes away without a word.
_RESETS: Final = (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


class ClosedByPeerError(BrokerConnectionError):
    """The peer closed or reset the connection."""


class Transport:
    """A connected stream.

    Args:
        sock: A connected socket, owned from now on; an SSLSocket after its handshake.
        address: For errors.
    """

    def __init__(self, sock: socket.socket, address: Address) -> None:
        self._sock = sock
        self._address = address
        is_tls = isinstance(sock, ssl.SSLSocket)
        self._max_read_bytes = _MAX_TLS_READ_BYTES if is_tls else _MAX_READ_BYTES

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
        except _RESETS as error:
            raise ClosedByPeerError(f"{self._address} reset the connection") from error
        except ssl.SSLError as error:
            raise tls_error(error, self._address) from error
        except OSError as error:
            raise BrokerConnectionError(
                f"the connection to {self._address} broke: {error.strerror or error}"
            ) from error


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
    return Transport(_secure(sock, address, security, deadline), address)


def _connect_tcp(address: Address, deadline: Deadline) -> socket.socket:
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


def _secure(
    sock: socket.socket, address: Address, security: SecurityOptions, deadline: Deadline
) -> socket.socket:
    """The socket itself, or TLS on it; closed where that fails."""
    if not security.uses_tls:
        return sock
    try:
        return _handshake(sock, address, security, deadline)
    except BaseException:
        sock.close()
        raise


def _handshake(
    sock: socket.socket, address: Address, security: SecurityOptions, deadline: Deadline
) -> ssl.SSLSocket:
    context = client_context(security)
    waited_ms = deadline.remaining_ms
    try:
        sock.settimeout(max(0.001, waited_ms / 1000))
        # A certificate names hosts without the root's dot, and addresses without a zone.
        secured = context.wrap_socket(sock, server_hostname=address.host.rstrip(".").split("%")[0])
    except TimeoutError:
        raise KafkaTimeoutError(
            f"{address}: the TLS handshake did not end within {waited_ms:.0f} ms; does this "
            f"listener speak TLS? kafka.security.protocol is {security.protocol}"
        ) from None
    except _RESETS as error:
        # This may pass: a broker that goes down does the same.
        raise ClosedByPeerError(
            f"{address} closed the connection in the TLS handshake; does this listener speak TLS? "
            f"kafka.security.protocol is {security.protocol}"
        ) from error
    except ssl.SSLError as error:
        raise tls_error(error, address) from error
    except OSError as error:
        raise BrokerConnectionError(
            f"{address}: the TLS handshake broke: {error.strerror or error}"
        ) from error
    try:
        check_suite((secured.cipher() or ("",))[0], security, address)
    except TlsError:
        secured.close()
        raise
    return secured
