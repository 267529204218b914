"""A scripted broker: real frames over a real loopback socket, and whatever answers a test wants.

One handler per API. For what a real broker cannot be made to do; everything else is tested with a
real one.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

from kafka_protocol import primitives as p
from kafka_protocol.client.config import Address
from kafka_protocol.codec import read_message, write_message
from kafka_protocol.framing import request_header_version, response_header_version
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.primitives import Out
from kafka_protocol.schema import Request, Response


class Close(Exception):
    """A handler raises it to close the connection, after writing `first`."""

    def __init__(self, first: bytes = b"") -> None:
        self.first = first


Handler = Callable[[Any, int], "Response | bytes | None"]


def versions_of(*requests: type[Request], highest: int | None = None) -> ApiVersionsResponse:
    """An answer to ApiVersions that offers everything we declare, up to `highest`."""
    ranges = []
    for request in (ApiVersionsRequest, *requests):
        most = request.versions.highest
        ranges.append(
            ApiVersionsResponse.ApiVersion(
                api_key=request.api_key,
                min_version=0,
                max_version=most if highest is None else min(most, highest),
            )
        )
    return ApiVersionsResponse(api_keys=ranges)


class ScriptedBroker:
    """Listens on a port from the kernel until the `with` block ends.

    Args:
        handlers: What answers each request: a function of the request and its version that
            returns a response, raw bytes to send instead of a frame, or None to stay silent.
    """

    def __init__(self, handlers: dict[type[Request], Handler]) -> None:
        known = set(handlers) - {ApiVersionsRequest}
        self.handlers: dict[type[Request], Handler] = {
            ApiVersionsRequest: lambda _request, _version: versions_of(*known)
        } | handlers
        self.requests: list[tuple[Request, int]] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    @property
    def address(self) -> Address:
        return Address("127.0.0.1", self._listener.getsockname()[1])

    def __enter__(self) -> ScriptedBroker:
        self._spawn(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        # Closing a listener does not wake up an accept() on it; shutting it down does.
        for sock in (self._listener, *self._open):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
            finally:
                sock.close()
        for thread in self._threads:
            thread.join(timeout=10)
            assert not thread.is_alive()

    def wait_for_connections(self, count: int) -> None:
        """The kernel lets a client connect before we hear of it."""
        deadline = time.monotonic() + 10
        while self.connections < count and time.monotonic() < deadline:
            time.sleep(0.001)
        assert self.connections == count

    def _spawn(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(sock)
            self._spawn(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        try:
            while (frame := _read_frame(sock)) is not None:
                answer = self._answer(frame)
                if answer is not None:
                    sock.sendall(answer)
        except Close as instruction:
            sock.sendall(instruction.first)
        except OSError:
            return
        sock.close()

    def _answer(self, frame: bytes) -> bytes | None:
        api_key, version, correlation_id = struct.unpack_from(">hhi", frame)
        cls = next((cls for cls in self.handlers if cls.api_key == api_key), None)
        if cls is None:
            raise Close  # as a broker does with what it does not know
        body = memoryview(frame)
        _, pos = p.read_nullable_string(body, 8)
        if request_header_version(cls, version) == 2:
            _, pos = p.read_unsigned_varint(body, pos)
        request = read_message(cls, version, body[pos:])
        self.requests.append((request, version))
        answer = self.handlers[cls](request, version)
        if answer is None or isinstance(answer, bytes):
            return answer
        return encode_response(answer, version, correlation_id)


def encode_response(response: Response, version: int, correlation_id: int) -> bytes:
    """A whole frame, size included."""
    out: Out = [correlation_id.to_bytes(4, "big")]
    if response_header_version(type(response), version) == 1:
        out.append(b"\x00")
    # An unsupported version of ApiVersions is answered in the layout of v0.
    is_refusal = isinstance(response, ApiVersionsResponse) and response.error_code == 35
    write_message(response, 0 if is_refusal else version, out)
    frame = b"".join(out)
    return len(frame).to_bytes(4, "big") + frame


def _read_frame(sock: socket.socket) -> bytes | None:
    size = _read_exactly(sock, 4)
    return None if size is None else _read_exactly(sock, int.from_bytes(size, "big"))


def _read_exactly(sock: socket.socket, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        chunk = sock.recv(count - len(data))
        if not chunk:
            return None
        data += chunk
    return data
