"""One HTTP request over our own transports, for token endpoints and schema registries.

One deadline for all of it; each request has its own connection. `http.client` parses the response.
Redirects are not followed: the request holds credentials.
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
from kafka_protocol.client.network.connect import connect
from kafka_protocol.client.network.transport import ClosedByPeerError, Stream
from kafka_protocol.client.waits import waiting_for
from kafka_protocol.errors import ProtocolError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from kafka_protocol.client.clock import Deadline
    from kafka_protocol.client.config.security_options import SecurityOptions

# Headers, and the sizes of chunks.
_MAX_HEAD_BYTES: Final = 256 * 1024
_PROTOCOLS: Final = {"http": ("PLAINTEXT", 80), "https": ("SSL", 443)}


class HttpRequest(NamedTuple):
    """A request to an http or https URL without a user.

    `method` is GET, POST or another one whose response may have a body. `headers` are all but Host,
    Content-Length and Connection. URL and headers must be printable ASCII.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


class HttpResponse(NamedTuple):
    """The status code, the body and two headers of a response; an absent header is empty."""

    status: int
    body: bytes
    content_type: str = ""
    location: str = ""


class ResponseTooLongError(ProtocolError):
    """A response is longer than the caller accepts. A retry would not help."""


def send(
    request: HttpRequest, security: SecurityOptions, deadline: Deadline, max_body_bytes: int
) -> HttpResponse:
    """Send a request, and read the whole response.

    Args:
        request: The text to send, and the address.
        security: Its options of TLS are used for https; the scheme decides whether TLS is.
        deadline: When the response must have been read.
        max_body_bytes: The longest body of a response to accept.

    Raises:
        BrokerConnectionError, KafkaTimeoutError: No response, or not in time.
        TlsError: The server cannot be trusted.
        KafkaConfigError: A file that TLS needs cannot be used.
        ProtocolError: The response is not HTTP.
        ResponseTooLongError: The body is longer than `max_body_bytes`.
    """
    parts = urlsplit(request.url)
    protocol, port = _PROTOCOLS[parts.scheme]
    address = Address(parts.hostname or "", parts.port or port)
    transport = connect(address, replace(security, protocol=protocol), deadline)
    try:
        with waiting_for(f"{address} (HTTP)"):
            transport.write([_encoded(request)], deadline)
            return _read_response(transport, address, deadline, max_body_bytes)
    finally:
        transport.close()


def _encoded(request: HttpRequest) -> bytes:
    parts, body = urlsplit(request.url), request.body
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    length = {} if body is None else {"Content-Length": str(len(body))}
    lines = {"Host": parts.netloc, "Connection": "close", **length, **request.headers}
    head = [f"{request.method} {target} HTTP/1.1", *(f"{n}: {value}" for n, value in lines.items())]
    if not all(map(str.isprintable, head)):
        raise ProtocolError(
            f"the request to {parts.netloc} has a control character in its path or in a header: "
            "check the options that it is made of"
        )
    return "\r\n".join([*head, "", ""]).encode() + (body or b"")


def _read_response(
    transport: Stream, address: Address, deadline: Deadline, max_body_bytes: int
) -> HttpResponse:
    stream = _Stream(transport, deadline, max_body_bytes + _MAX_HEAD_BYTES)
    # The only method that it calls on a socket is `makefile`.
    response = http.client.HTTPResponse(cast(socket.socket, stream), method="GET")
    try:
        response.begin()
        body = response.read(max_body_bytes + 1)
    except (http.client.HTTPException, ValueError) as error:
        kind = type(error).__name__
        raise ProtocolError(f"{address}: the response is not HTTP: {kind}") from error
    finally:
        response.close()
    if len(body) > max_body_bytes:
        raise ResponseTooLongError(f"{address}: the response is longer than {max_body_bytes} bytes")
    if response.length:  # the bytes of Content-Length that were not received
        raise ClosedByPeerError(f"{address} closed the connection in the middle of its response")
    content_type, location = (response.getheader(n, "") for n in ("Content-Type", "Location"))
    return HttpResponse(response.status, body, content_type, location)


class _Stream(io.RawIOBase):
    """A transport as a file that ends when the peer closes."""

    def __init__(self, transport: Stream, deadline: Deadline, max_bytes: int) -> None:
        self._transport = transport
        self._deadline = deadline
        self._max_bytes = max_bytes
        self._left = max_bytes
        self._rest = b""

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
                raise ResponseTooLongError(f"the response is longer than {self._max_bytes} bytes")
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
