"""One POST over our own streams, for token endpoints: every byte within one deadline.

`http.client` parses the answer. Redirects are not followed, since the request holds credentials.
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
from kafka_protocol.client.network.transport import ClosedByPeerError, Transport, connect
from kafka_protocol.errors import ProtocolError, TlsError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from kafka_protocol.client.clock import Deadline

_MAX_BODY_BYTES: Final = 1024 * 1024
# With its head, and what chunks cost.
_MAX_ANSWER_BYTES: Final = _MAX_BODY_BYTES + 256 * 1024
_PORTS: Final = {"http": 80, "https": 443}


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes


def post(
    url: str, headers: Mapping[str, str], body: bytes, ca_location: str | None, deadline: Deadline
) -> Answer:
    """Send a request, and read the whole answer.

    Args:
        url: http or https, without a user.
        headers: What to send beside Host, Content-Length and Connection.
        body: What to post.
        ca_location: The authorities to trust; those of the system where None.
        deadline: When the answer must be there.

    Raises:
        BrokerConnectionError, KafkaTimeoutError: Nobody answers, or not in time.
        TlsError: Who answers cannot be trusted.
        ProtocolError: The answer is not HTTP, or longer than 1 MiB.
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
        return _read_answer(transport, address, deadline)
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


def _read_answer(transport: Transport, address: Address, deadline: Deadline) -> Answer:
    stream = _Stream(transport, deadline)
    # All that it asks of a socket is `makefile`.
    response = http.client.HTTPResponse(cast(socket.socket, stream), method="POST")
    try:
        response.begin()
        body = response.read(_MAX_BODY_BYTES + 1)
    except (http.client.HTTPException, ValueError) as error:
        raise ProtocolError(f"{address}: the answer is not HTTP: {type(error).__name__}") from error
    finally:
        response.close()
    if len(body) > _MAX_BODY_BYTES:
        raise ProtocolError(f"{address}: the answer is longer than {_MAX_BODY_BYTES} bytes")
    if response.length:  # what Content-Length announced and did not come
        raise ClosedByPeerError(f"{address} closed the connection in the middle of its answer")
    return Answer(response.status, body)


class _Stream(io.RawIOBase):
    """A transport as a file, which ends where the peer closes.

    Args:
        transport: What to read from.
        deadline: For all reads together.
    """

    def __init__(self, transport: Transport, deadline: Deadline) -> None:
        self._transport = transport
        self._deadline = deadline
        self._rest = b""
        self._left = _MAX_ANSWER_BYTES

    def makefile(self, _mode: str) -> io.BufferedReader:
        """What `http.client` reads from."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read what is there, at least one byte; 0 at the end."""
        view = memoryview(buffer).cast("B")
        if not self._rest:
            try:
                self._rest = self._transport.read(len(view), self._deadline)
            except ClosedByPeerError:
                return 0
            self._left -= len(self._rest)
            if self._left < 0:
                # Whatever the answer says of its own length.
                raise ProtocolError(f"the answer is longer than {_MAX_ANSWER_BYTES} bytes")
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
