"""Opens a connection to an address: TCP to one of its IP addresses, and TLS if configured.

A test can put another way to open connections in its place.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.host_names import candidates_of
from kafka_protocol.client.network.transport import Stream, Transport
from kafka_protocol.client.wait_observer import waiting_for
from kafka_protocol.errors import BrokerConnectionError

Opener: TypeAlias = Callable[[Address, SecurityOptions, Deadline], Stream]
"""How to open a connection; raises as `connect`."""


def connect(address: Address, security: SecurityOptions, deadline: Deadline) -> Stream:
    """Connect to an address, trying each IP address of its host name.

    Raises:
        BrokerConnectionError: The name cannot be resolved, or no IP address accepts.
        KafkaTimeoutError: The TLS handshake did not end in time.
        TlsError: The two sides cannot agree, or one does not trust the other.
        KafkaConfigError: A file that TLS needs cannot be used.
    """
    with waiting_for(lambda: f"{address} (connection)"):
        return _opener(address, security, deadline)


@contextmanager
def use_opener(opener: Opener) -> Iterator[None]:
    """Let `connect` open connections in another way, in the whole process: for tests."""
    global _opener  # noqa: PLW0603  the one place that replaces it
    previous, _opener = _opener, opener
    try:
        yield
    finally:
        _opener = previous


def _open(address: Address, security: SecurityOptions, deadline: Deadline) -> Transport:
    sock = connect_tcp(address, deadline)
    if not security.uses_tls:
        return Transport(sock, address)
    # Imported here, so that a client without TLS does not load `ssl`.
    from kafka_protocol.client.network.tls_stream import start_tls  # noqa: PLC0415

    return start_tls(sock, address, security, deadline)


_opener: Opener = _open

# After 60 s without a byte one each 10 s; the third one without a response ends the connection.
# macOS has another name for the first.
_PROBES: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPALIVE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


def connect_tcp(address: Address, deadline: Deadline) -> socket.socket:
    """Connect to the first of a listener's IP addresses that accepts.

    Raises:
        BrokerConnectionError: The name cannot be resolved, or no IP address accepts.
    """
    candidates = candidates_of(address, deadline)
    reasons: list[str] = []
    for i, (family, kind, protocol, _, sockaddr) in enumerate(candidates):
        share_ms = deadline.remaining_ms / (len(candidates) - i)
        try:
            # Creating a socket can fail too: no IPv6 in this kernel, no file descriptor left.
            sock = socket.socket(family, kind, protocol)
        except OSError as error:
            reasons.append(_reason(error, share_ms))
            continue
        try:
            sock.settimeout(max(0.001, share_ms / 1000))
            sock.connect(sockaddr)
            # Small requests must not wait for the acknowledgement of earlier ones.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _keep_alive(sock)
        except OSError as error:
            sock.close()
            reasons.append(_reason(error, share_ms))
            continue
        return sock
    unique = ", ".join(dict.fromkeys(reasons)) or "the name has no address"
    raise BrokerConnectionError(f"{address}: {unique}")


def _keep_alive(sock: socket.socket) -> None:
    """Let the system send probes, as Java's client does, on a connection that nothing uses.

    Without them a load balancer forgets it (Azure's after four minutes), often without a word to
    either side, and a request waits for a response in vain.
    """
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _reason(error: OSError, waited_ms: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no response within {waited_ms:.0f} ms"
    if error.errno == errno.ECONNREFUSED:
        return "connection refused"
    return error.strerror or str(error)
