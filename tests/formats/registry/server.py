"""A schema registry that responds as a test says, also wrongly."""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kafka_formats.registry.config import RegistryConfig
from tests.fakes.tls import listening

Reply: TypeAlias = "bytes | Callable[[socket.socket], None]"

JSON = "application/vnd.schemaregistry.v1+json"
SOON_MS = 20_000


@dataclass(frozen=True)
class Received:
    """A request that the registry received; names of headers are in lower case.

    `body` is what its JSON says, or the text of a form.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class FakeRegistry:
    """What the registry returns by target; the last reply to a target is repeated."""

    replies: dict[str, list[Reply]] = field(default_factory=dict)
    requests: list[Received] = field(default_factory=list)
    url: str = ""

    def on(self, target: str, *replies: Reply) -> None:
        self.replies[target] = [*replies]

    @property
    def targets(self) -> list[str]:
        return [request.target for request in self.requests]

    def _replies_to(self, target: str) -> list[Reply]:
        """A registry ignores the parameter `format` if it does not know it."""
        plain = re.sub(r"[?&]format=serialized$", "", target)
        unknown: list[Reply] = [error(404, 404, "HTTP 404 Not Found")]
        return self.replies.get(target) or self.replies.get(plain) or unknown

    def serve(self, sock: socket.socket) -> None:
        received = _read_request(sock)
        self.requests.append(received)
        replies = self._replies_to(received.target)
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if isinstance(reply, bytes):
            sock.sendall(reply)
        else:
            reply(sock)


def _read_request(sock: socket.socket) -> Received:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(sock)
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += _some(sock)
    method, target, _ = first.split(" ")
    is_json = headers.get("content-type") == JSON
    return Received(method, target, headers, json.loads(body) if is_json else body.decode())


def _some(sock: socket.socket) -> bytes:
    data = sock.recv(65536)
    if not data:
        raise ConnectionError("the client closed the connection")
    return data


def ok(body: object) -> bytes:
    return response(200, json.dumps(body).encode(), JSON)


def error(status: int, code: int, message: str = "no") -> bytes:
    return response(status, json.dumps({"error_code": code, "message": message}).encode(), JSON)


def response(
    status: int, body: bytes, content_type: str = "text/html", location: str = ""
) -> bytes:
    lines = [
        f"HTTP/1.1 {status} X",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body)}",
        *([f"Location: {location}"] if location else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def hang(sock: socket.socket) -> None:
    """Never respond; return when the client gives up."""
    with suppress(OSError):
        sock.recv(1)


def trickle(sock: socket.socket) -> None:
    """Send a head, and then a byte now and then, until the client gives up."""
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    sock.settimeout(0.02)
    with suppress(OSError):
        while True:
            sock.sendall(b" ")
            try:
                if not sock.recv(1):
                    return
            except TimeoutError:
                continue


@contextmanager
def running(context: ssl.SSLContext | None = None) -> Iterator[FakeRegistry]:
    registry = FakeRegistry()

    def serve(sock: socket.socket) -> None:
        with ExitStack() as stack:
            if context is not None:
                sock = stack.enter_context(context.wrap_socket(sock, server_side=True))
            registry.serve(sock)

    with listening(serve) as address:
        registry.url = f"{'http' if context is None else 'https'}://{address}"
        yield registry


def nowhere() -> str:
    """A URL where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def config_of(*urls: str, **values: Any) -> RegistryConfig:
    """A configuration whose retries pause for a ms."""
    quick = {"retries_wait_ms": 0, "request_timeout_ms": SOON_MS}
    return RegistryConfig(urls=urls, **(quick | values))
