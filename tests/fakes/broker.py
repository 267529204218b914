"""A scripted broker: real frames over a loopback socket, with one handler per API from the test.

Only for bytes that no broker sends. `cluster` serves simulated brokers with it, and `faults` has
faults of responses.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from kafka_protocol.client.config.addresses import Address
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.wire import primitives as p
from kafka_protocol.wire.codec import read_message
from kafka_protocol.wire.framing import request_header_version
from kafka_protocol.wire.schema import Request, Response
from tests.fakes.frames import encode_response

_MAX_WAIT_S = 10
_MAX_FRAME_BYTES = 100 * 1024 * 1024  # socket.request.max.bytes


class Close(Exception):
    """A handler raises it to close the connection, after writing `first`."""

    def __init__(self, first: bytes = b"") -> None:
        self.first = first


class Peer:
    """The broker's side of one connection, for deliveries.

    Args:
        sock: The connection.
        stopping: Set when the broker goes down, which ends all pauses.
    """

    def __init__(self, sock: socket.socket, stopping: threading.Event) -> None:
        self._sock = sock
        self._stopping = stopping

    def write(self, data: bytes | memoryview) -> None:
        self._sock.sendall(data)

    def pause(self, ms: float) -> None:
        """Wait; close the connection if the broker goes down before the end."""
        if self._stopping.wait(ms / 1000):
            raise Close


# Sends a frame to the client in its own way.
Delivery: TypeAlias = Callable[[bytes, Peer], None]


class Delivered(NamedTuple):
    """A response, and the way it is sent to the client."""

    response: Response
    deliver: Delivery


Handler: TypeAlias = Callable[[Any, int], "Response | Delivered | bytes | None"]


def versions_of(*requests: type[Request], highest: int | None = None) -> ApiVersionsResponse:
    """A response to ApiVersions with all versions that we declare, up to `highest`."""
    kinds: list[type[Request]] = [ApiVersionsRequest, *requests]
    ranges = [
        ApiVersionsResponse.ApiVersion(
            api_key=kind.api_key,
            min_version=0,
            max_version=(
                kind.versions.highest if highest is None else min(kind.versions.highest, highest)
            ),
        )
        for kind in kinds
    ]
    return ApiVersionsResponse(api_keys=ranges)


class ScriptedBroker:
    """Listens on a port from the kernel until the `with` block ends.

    Args:
        handlers: One function per API, of the request and its version. It returns a response, raw
            bytes to send instead of a frame, or None to send nothing.
    """

    def __init__(self, handlers: dict[type[Request], Handler]) -> None:
        known = set(handlers) - {ApiVersionsRequest}
        self.handlers: dict[type[Request], Handler] = {
            ApiVersionsRequest: lambda _request, _version: versions_of(*known)
        } | handlers
        self.requests: list[tuple[Request, int]] = []
        self.connections = 0
        # Set before the start to be reached over TLS.
        self.tls: ssl.SSLContext | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        # Stays readable after the listener is closed.
        self.address = Address("127.0.0.1", self._listener.getsockname()[1])
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._open: list[tuple[socket.socket, threading.Thread]] = []
        self._stopping = threading.Event()

    def __enter__(self) -> ScriptedBroker:
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        _end(self._listener, self._acceptor)  # first, because it adds to self._open
        for sock, thread in self._open:
            _end(sock, thread)

    def stop_listening(self) -> None:
        """Refuse new connections, as a broker that goes down does first."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def close_connections(self) -> None:
        """Close all connections, as a load balancer closes quiet ones."""
        for sock, _ in self._open:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def wait_for_connections(self, count: int) -> None:
        """Wait: the kernel accepts a connection before this server sees it."""
        deadline = time.monotonic() + _MAX_WAIT_S
        while self.connections < count and time.monotonic() < deadline:
            time.sleep(0.001)
        assert self.connections == count

    def wait_for_open_connections(self, most: int) -> None:
        """Wait until no more than `most` are open: this server sees the end of one late."""
        deadline = time.monotonic() + _MAX_WAIT_S
        while self._count_open() > most and time.monotonic() < deadline:
            time.sleep(0.001)
        assert self._count_open() <= most

    def _count_open(self) -> int:
        return sum(thread.is_alive() for _, thread in self._open)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            # Pieces that a delivery writes must arrive as pieces.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls is not None:
                sock = self.tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
            self._open.append((sock, thread))
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        peer = Peer(sock, self._stopping)
        try:
            while (frame := _read_frame(sock)) is not None:
                self._respond(frame, peer)
        except Close as instruction:
            _write_last(sock, instruction.first)
        except OSError:
            return
        finally:
            sock.close()

    def _respond(self, frame: memoryview, peer: Peer) -> None:
        api_key, version, correlation_id = struct.unpack_from(">hhi", frame)
        cls = next((cls for cls in self.handlers if cls.api_key == api_key), None)
        if cls is None or version not in cls.versions:
            raise Close  # as a broker does on an unknown request
        _, pos = p.read_nullable_string(frame, 8)
        if request_header_version(cls, version) == 2:
            _, pos = p.read_unsigned_varint(frame, pos)
        request = read_message(cls, version, frame[pos:])
        self.requests.append((request, version))
        result = self.handlers[cls](request, version)
        if isinstance(result, Delivered):
            result.deliver(encode_response(result.response, version, correlation_id), peer)
        elif isinstance(result, Response):
            peer.write(encode_response(result, version, correlation_id))
        elif result is not None:
            peer.write(result)


def _end(sock: socket.socket, thread: threading.Thread) -> None:
    # Closing a socket does not wake a thread that waits on it; shutting it down does.
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # closed already
    sock.close()
    if thread.ident is not None:
        thread.join(timeout=_MAX_WAIT_S)
        assert not thread.is_alive()


def _write_last(sock: socket.socket, data: bytes) -> None:
    try:
        sock.sendall(data)
    except OSError:
        pass  # the client closed first


def _read_frame(sock: socket.socket) -> memoryview | None:
    head = _read_exactly(sock, 4)
    size = 0 if head is None else int.from_bytes(head, "big")
    # As a broker does on TLS, whose first bytes are a size of 369 MB.
    return _read_exactly(sock, size) if 0 < size <= _MAX_FRAME_BYTES else None


def _read_exactly(sock: socket.socket, count: int) -> memoryview | None:
    data = memoryview(bytearray(count))
    got = 0
    while got < count:
        more = sock.recv_into(data[got:])
        if not more:
            return None
        got += more
    return data
