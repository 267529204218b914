"""One HTTP request over our own transports, with one deadline for all of it.

For token endpoints and schema registries. `http.client` parses the response. Redirects are not
followed: the request holds credentials.
"""

from __future__ import annotations

import http.client
import io
import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from urllib.parse import urlsplit

from kafka_protocol.client.config.client import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.connect import connect
from kafka_protocol.client.network.transport import ClosedByPeerError, Transport
from kafka_protocol.errors import ProtocolError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from kafka_protocol.client.clock import Deadline

# Of headers, and of the sizes of chunks.
_MAX_REST_BYTES: Final = 256 * 1024
_PORTS: Final = {"http": 80, "https": 443}


class HttpRequest(NamedTuple):
    """A request.

    Attributes:
        method: Such as GET.
        url: An http or https URL without a user.
        headers: All but Host, Content-Length and Connection.
        body: Empty for a request without one.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class HttpResponse(NamedTuple):
    """The status code and the body of a response, and two of its headers; empty without them."""

    status: int
    body: bytes
    content_type: str = ""
    location: str = ""


def send(
    request: HttpRequest, security: SecurityOptions, deadline: Deadline, max_body_bytes: int
) -> HttpResponse:
    """Send a request, and read the whole response.

    Args:
        request: The request.
        security: The options of TLS; the URL says whether it is used.
        deadline: For connecting, sending and receiving.
        max_body_bytes: The largest body of a response.

    Raises:
        BrokerConnectionError, KafkaTimeoutError: No response, or not in time.
        TlsError: The server cannot be trusted.
        ProtocolError: The response is not HTTP, or too long.
    """
    parts = urlsplit(request.url)
    address = Address(parts.hostname or "", parts.port or _PORTS[parts.scheme])
    protocol = "SSL" if parts.scheme == "https" else "PLAINTEXT"
    transport = connect(address, replace(security, protocol=protocol), deadline)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        lines = {
            "Host": parts.netloc,
            "Connection": "close",
            "Content-Length": str(len(request.body)),
            **request.headers,
        }
        head = [f"{request.method} {target} HTTP/1.1"]
        head += [f"{name}: {value}" for name, value in lines.items()]
        transport.write(["\r\n".join([*head, "", ""]).encode() + request.body], deadline)
        return _Reading(transport, address, max_body_bytes, request.method).response(deadline)
    finally:
        transport.close()


class _Reading:
    """The reading of one response."""

    def __init__(
        self, transport: Transport, address: Address, max_body_bytes: int, method: str
    ) -> None:
        self._transport = transport
        self._address = address
        self._max_body_bytes = max_body_bytes
        self._method = method

    def response(self, deadline: Deadline) -> HttpResponse:
        limit = self._max_body_bytes
        stream = _Stream(self._transport, deadline, limit + _MAX_REST_BYTES)
        # The only method that it calls on a socket is `makefile`.
        response = http.client.HTTPResponse(cast(socket.socket, stream), method=self._method)
        try:
            response.begin()
            body = response.read(limit + 1)
        except (http.client.HTTPException, ValueError) as error:
            kind = type(error).__name__
            raise ProtocolError(f"{self._address}: the response is not HTTP: {kind}") from error
        finally:
            response.close()
        if len(body) > limit:
            raise ProtocolError(f"{self._address}: the response is longer than {limit} bytes")
        if response.length:  # the bytes of Content-Length that were not received
            raise ClosedByPeerError(
                f"{self._address} closed the connection in the middle of its response"
            )
        headers = (response.headers.get(name, "") for name in ("Content-Type", "Location"))
        return HttpResponse(response.status, body, *headers)


class _Stream(io.RawIOBase):
    """A transport as a file that ends when the peer closes."""

    def __init__(self, transport: Transport, deadline: Deadline, max_bytes: int) -> None:
        self._transport = transport
        self._deadline = deadline
        self._rest = b""
        self._max_bytes = max_bytes
        self._left = max_bytes

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
                raise ProtocolError(f"the response is longer than {self._max_bytes} bytes")
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
