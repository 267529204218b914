"""One HTTP request over our own transports, for token endpoints and schema registries.

One deadline for all of it; each request of `send` has its own connection. `http.client` parses the
response. Redirects are not followed: the request holds credentials.
"""

from __future__ import annotations

import http.client
import io
import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from urllib.parse import urlsplit

from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.network.connect import connect
from kafka_protocol.client.network.http_proxy import open_tunnel, proxy_for
from kafka_protocol.client.network.transport import ClosedByPeerError, Stream
from kafka_protocol.client.wait_observer import waiting_for
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
        AuthenticationError: A proxy wants a login.
        KafkaConfigError: A file that TLS needs, or a proxy's URL, cannot be used.
        ProtocolError: The response is not HTTP.
        ResponseTooLongError: The body is longer than `max_body_bytes`.
    """
    transport = connect_to(request.url, security, deadline)
    try:
        response, _ = exchange(transport, request, deadline, max_body_bytes, connection="close")
        return response
    finally:
        transport.close()


def address_of(url: str) -> Address:
    """The server of a URL."""
    parts = urlsplit(url)
    return Address(parts.hostname or "", parts.port or _PROTOCOLS[parts.scheme][1])


def connect_to(url: str, security: SecurityOptions, deadline: Deadline) -> Stream:
    """Connect to the server of a URL, through a proxy of the environment; raises as `send`."""
    protocol, _ = _PROTOCOLS[urlsplit(url).scheme]
    address, tls = address_of(url), replace(security, protocol=protocol)
    proxy = proxy_for(address) if tls.uses_tls else None
    if proxy is None:
        return connect(address, tls, deadline)
    from kafka_protocol.client.network.tls_stream import start_tls  # noqa: PLC0415 - slow

    return start_tls(open_tunnel(proxy, address, deadline), address, tls, deadline)


def exchange(
    transport: Stream,
    request: HttpRequest,
    deadline: Deadline,
    max_body_bytes: int,
    connection: str,
) -> tuple[HttpResponse, bool]:
    """Send a request and read the response; and whether the connection can take another one.

    Args:
        transport: A connection to the server.
        request: The request.
        deadline: When the response must have been read.
        max_body_bytes: The longest body of a response to accept.
        connection: The header of this name: `close` or `keep-alive`.
    """
    address = address_of(request.url)
    with waiting_for(lambda: f"{address} (HTTP)"):
        transport.write([_encoded(request, connection)], deadline)
        return _read(transport, address, deadline, max_body_bytes)


def _encoded(request: HttpRequest, connection: str) -> bytes:
    parts, body = urlsplit(request.url), request.body
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    length = {} if body is None else {"Content-Length": str(len(body))}
    lines = {"Host": parts.netloc, "Connection": connection, **length, **request.headers}
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
    return _read(transport, address, deadline, max_body_bytes)[0]


def _read(
    transport: Stream, address: Address, deadline: Deadline, max_body_bytes: int
) -> tuple[HttpResponse, bool]:
    """The response, and whether it was read to its end and the connection stays open."""
    stream = _Stream(transport, deadline, max_body_bytes + _MAX_HEAD_BYTES)
    # The only method that it calls on a socket is `makefile`.
    response = http.client.HTTPResponse(cast(socket.socket, stream), method="GET")
    try:
        response.begin()
        body = response.read(max_body_bytes + 1)
        is_open = response.isclosed() and not response.will_close and stream.is_empty
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
    return HttpResponse(response.status, body, content_type, location), is_open


class _Stream(io.RawIOBase):
    """A transport as a file that ends when the peer closes."""

    def __init__(self, transport: Stream, deadline: Deadline, max_bytes: int) -> None:
        self._transport = transport
        self._deadline = deadline
        self._max_bytes = max_bytes
        self._left = max_bytes
        self._rest = b""

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return the file that `http.client` reads from.

        It takes no byte more than is asked of it, so that `is_empty` counts the others.
        """
        return io.BufferedReader(self, 1)

    @property
    def is_empty(self) -> bool:
        """Whether all bytes that came were read."""
        return not self._rest

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
