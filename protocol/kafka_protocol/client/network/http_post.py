"""One HTTP POST over our own transports, for token endpoints, with one deadline for all of it.

`http.client` parses the response. Redirects are not followed: the request holds credentials.
"""

from __future__ import annotations

import http.client
import io
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from urllib.parse import urlsplit

from kafka_protocol.client.config.client import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.connect import connect
from kafka_protocol.client.network.transport import ClosedByPeerError, Transport
from kafka_protocol.errors import ProtocolError, TlsError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from kafka_protocol.client.clock import Deadline

_MAX_BODY_BYTES: Final = 1024 * 1024
# With its headers, and the sizes of chunks.
_MAX_RESPONSE_BYTES: Final = _MAX_BODY_BYTES + 256 * 1024
_PORTS: Final = {"http": 80, "https": 443}


class HttpResponse(NamedTuple):
    """The status code and the body of a response."""

    status: int
    body: bytes


def post(
    url: str, headers: Mapping[str, str], body: bytes, ca_location: str | None, deadline: Deadline
) -> HttpResponse:
    """Send a request to an http or https URL without a user, and read the whole response.

    `headers` are all but Host, Content-Length and Connection. `ca_location` has the authorities to
    trust; None for those of the system.

    Raises:
        BrokerConnectionError, KafkaTimeoutError: No response, or not in time.
        TlsError: The server cannot be trusted.
        ProtocolError: The response is not HTTP, or longer than 1 MiB.
    """
    parts = urlsplit(url)
    address = Address(parts.hostname or "", parts.port or _PORTS[parts.scheme])
    transport = _connect(address, parts.scheme, ca_location, deadline)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        lines = {
            "Host": parts.netloc,
            "Connection": "close",
            "Content-Length": str(len(body)),
            **headers,
        }
        head = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items())]
        transport.write(["\r\n".join([*head, "", ""]).encode() + body], deadline)
        return _read_response(transport, address, deadline)
    finally:
        transport.close()


def _connect(
    address: Address, scheme: str, ca_location: str | None, deadline: Deadline
) -> Transport:
    protocol = "SSL" if scheme == "https" else "PLAINTEXT"
    security = SecurityOptions(protocol=protocol, truststore_location=ca_location)
    try:
        return connect(address, security, deadline)
    except TlsError as error:
        raise TlsError(
            f"{error} (the authorities to trust at a token endpoint: kafka.https.ca.location)"
        ) from error


def _read_response(transport: Transport, address: Address, deadline: Deadline) -> HttpResponse:
    stream = _Stream(transport, deadline)
    # The only method that it calls on a socket is `makefile`.
    response = http.client.HTTPResponse(cast(socket.socket, stream), method="POST")
    try:
        response.begin()
        body = response.read(_MAX_BODY_BYTES + 1)
    except (http.client.HTTPException, ValueError) as error:
        kind = type(error).__name__
        raise ProtocolError(f"{address}: the response is not HTTP: {kind}") from error
    finally:
        response.close()
    if len(body) > _MAX_BODY_BYTES:
        raise ProtocolError(f"{address}: the response is longer than {_MAX_BODY_BYTES} bytes")
    if response.length:  # the bytes of Content-Length that were not received
        raise ClosedByPeerError(f"{address} closed the connection in the middle of its response")
    return HttpResponse(response.status, body)


class _Stream(io.RawIOBase):
    """A transport as a file that ends when the peer closes."""

    def __init__(self, transport: Transport, deadline: Deadline) -> None:
        self._transport = transport
        self._deadline = deadline
        self._rest = b""
        self._left = _MAX_RESPONSE_BYTES

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return the file that `http.client` reads from."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read the bytes that are available, at least one; 0 at the end."""
        view = memoryview(buffer).cast("B")
        if not self._rest:
            try:
                self._rest = self._transport.read(len(view), self._deadline)
            except ClosedByPeerError:
                return 0
            self._left -= len(self._rest)
            if self._left < 0:
                # Whatever its Content-Length is.
                raise ProtocolError(f"the response is longer than {_MAX_RESPONSE_BYTES} bytes")
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
