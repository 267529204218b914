"""Connections that stay open between requests, and what becomes of those that servers close."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.http_connections import HttpConnections
from kafka_protocol.client.network.http_request import HttpRequest, HttpResponse
from kafka_protocol.errors import KafkaError
from tests.fakes.tls import listening

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
LAST = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
ENDLESS = b"HTTP/1.0 200 OK\r\n\r\n{}"


@dataclass
class Server:
    """Gives each request the next reply; None closes the connection without one."""

    replies: list[bytes | None]
    url: str = ""
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)

    def serve(self, sock: socket.socket) -> None:
        self.connections += 1
        while self.replies:
            data = b""
            while not data.endswith(b"\r\n\r\n"):
                received = sock.recv(4096)
                if not received:
                    return
                data += received
            self.requests.append(data)
            reply = self.replies.pop(0)
            if reply is None:
                return
            sock.sendall(reply)
            if b"Content-Length" not in reply and b"chunked" not in reply:
                return


@contextmanager
def serving(*replies: bytes | None) -> Iterator[tuple[Server, Callable[[], HttpResponse]]]:
    server, connections = Server([*replies]), HttpConnections()
    with listening(server.serve) as address:
        server.url = f"http://{address}"

        def get() -> HttpResponse:
            request = HttpRequest("GET", f"{server.url}/schemas", {})
            return connections.send(request, SecurityOptions(), Deadline.after(5_000), 1_000)

        try:
            yield server, get
        finally:
            connections.close()


def test_requests_share_a_connection() -> None:
    with serving(OK, CHUNKED, OK, CHUNKED) as (server, get):
        assert [get().body for _ in range(4)] == [b"{}"] * 4
        assert server.connections == 1
        assert all(b"Connection: keep-alive\r\n" in each for each in server.requests)


@pytest.mark.parametrize("reply", [LAST, ENDLESS])
def test_a_server_that_closes_gets_another_connection(reply: bytes) -> None:
    with serving(reply, reply, reply) as (server, get):
        assert [get().body for _ in range(3)] == [b"{}"] * 3
        assert server.connections == 3


def test_a_request_on_a_connection_that_ends_is_sent_again() -> None:
    """As by a server whose time for idle connections is over."""
    with serving(OK, None, OK) as (server, get):
        assert [get().body for _ in range(2)] == [b"{}"] * 2
        assert server.connections == 2
        assert len(server.requests) == 3


def test_a_new_connection_that_ends_is_an_error() -> None:
    with serving(None, OK) as (server, get):
        with pytest.raises(KafkaError):
            get()
        assert get().body == b"{}"
        assert server.connections == 2


@pytest.mark.parametrize("more", [b"x", OK])
def test_bytes_after_a_response_are_no_response_to_the_next_request(more: bytes) -> None:
    other = OK.replace(b"{}", b"[]")
    with serving(OK + more, other) as (server, get):
        assert get().body == b"{}"
        assert get().body == b"[]"
        assert server.connections == 2


def test_a_response_that_is_too_long_ends_the_connection() -> None:
    long = b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2_000
    with serving(long, OK) as (server, get):
        with pytest.raises(KafkaError, match="longer than 1000 bytes"):
            get()
        assert get().body == b"{}"
        assert server.connections == 2


def test_a_process_does_not_use_the_connections_of_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connections = HttpConnections()
    with listening(Server([OK]).serve) as first, listening(Server([OK]).serve) as second:

        def get(address: object) -> int:
            request = HttpRequest("GET", f"http://{address}/", {})
            soon = Deadline.after(5_000)
            return connections.send(request, SecurityOptions(), soon, 1_000).status

        assert get(first) == 200
        of_parent = [*connections._idle.values()]
        with monkeypatch.context() as child:
            child.setattr(os, "getpid", lambda: -1)
            assert get(second) == 200
            assert of_parent[0] not in connections._idle.values()
            assert "open" in repr(of_parent[0])
            connections.close()
        of_parent[0].close()
