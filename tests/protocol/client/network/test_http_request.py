"""One HTTP request: what is sent, possible responses, and the deadline."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.http_request import (
    HttpRequest,
    HttpResponse,
    ResponseTooLongError,
    _encoded,
    _read_response,
    send,
)
from kafka_protocol.client.network.transport import ClosedByPeerError, Transport
from kafka_protocol.client.wait_observer import observed_by
from kafka_protocol.errors import KafkaTimeoutError, ProtocolError, TlsError
from tests.fakes.tls import authority_pem, listening, server_context

SOON = 5_000
MAX_BODY_BYTES = 1024 * 1024
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def read_request(sock: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\nbody" not in data:
        data += sock.recv(4096)
    return data


@contextmanager
def responding(
    reply: bytes | Callable[[socket.socket], None], requests: list[bytes] | None = None
) -> Iterator[str]:
    """A server that reads a request, sends `reply`, and closes."""

    def serve(sock: socket.socket) -> None:
        request = read_request(sock)
        if requests is not None:
            requests.append(request)
        if isinstance(reply, bytes):
            sock.sendall(reply)
        else:
            reply(sock)

    with listening(serve) as address:
        yield f"http://{address}"


def post_to(url: str, ms: float = SOON, ca_location: str | None = None) -> HttpResponse:
    security = SecurityOptions(truststore_location=ca_location)
    request = HttpRequest("POST", url, {"X-Test": "1"}, b"body")
    return send(request, security, Deadline.after(ms), MAX_BODY_BYTES)


def test_the_request() -> None:
    requests: list[bytes] = []
    with responding(OK, requests) as url:
        assert post_to(f"{url}/a/b?c=d") == HttpResponse(200, b"{}")
    host = url.removeprefix("http://")
    assert requests == [
        b"POST /a/b?c=d HTTP/1.1\r\nHost: " + host.encode() + b"\r\nConnection: close\r\n"
        b"Content-Length: 4\r\nX-Test: 1\r\n\r\nbody"
    ]


@pytest.mark.parametrize(
    ("reply", "response"),
    [
        (OK, HttpResponse(200, b"{}")),
        (OK + b"more", HttpResponse(200, b"{}")),
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", HttpResponse(200, b"to the end")),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
            HttpResponse(200, b"abcde"),
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, HttpResponse(200, b"{}")),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n",
            HttpResponse(302, b"", location="http://x/"),
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nno",
            HttpResponse(200, b"no", "text/html"),
        ),
        (b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", HttpResponse(401, b"")),
    ],
    ids=["200", "extra bytes", "no length", "chunked", "100", "302", "type", "401"],
)
def test_responses(reply: bytes, response: HttpResponse) -> None:
    with responding(reply) as url:
        assert post_to(url) == response


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (b"", "is not HTTP: RemoteDisconnected"),
        (b"SSH-2.0\r\n", "is not HTTP: BadStatusLine"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n", "is not HTTP: HTTPException"),
    ],
    ids=["closed", "SSH", "too many headers"],
)
def test_replies_that_are_not_http(reply: bytes, reason: str) -> None:
    with responding(reply) as url, pytest.raises(ProtocolError, match=reason):
        post_to(url)


@pytest.mark.parametrize("head", [b"", b"Content-Length: 1048577\r\n"], ids=["no length", "length"])
def test_a_response_that_is_too_long(head: bytes) -> None:
    with responding(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + bytes(MAX_BODY_BYTES + 1)) as url:
        with pytest.raises(ResponseTooLongError, match="is longer than 1048576 bytes"):
            post_to(url)


def test_the_server_is_waited_for() -> None:
    seen: list[str | None] = []
    with responding(OK) as url, observed_by(seen.append):
        post_to(url)
    address = url.removeprefix("http://")
    assert seen == [f"{address} (connection)", None, f"{address} (HTTP)", None]


def test_a_request_without_a_body() -> None:
    requests: list[bytes] = []

    def serve(sock: socket.socket) -> None:
        requests.append(sock.recv(4096))
        sock.sendall(OK)

    with listening(serve) as address:
        request = HttpRequest("GET", f"http://{address}", {})
        response = send(request, SecurityOptions(), Deadline.after(SOON), MAX_BODY_BYTES)
    assert response == HttpResponse(200, b"{}")
    assert requests == [f"GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode()]


def test_a_truncated_response_is_retriable() -> None:
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"
    with responding(reply) as url:
        with pytest.raises(ClosedByPeerError, match="in the middle of its") as caught:
            post_to(url)
    assert caught.value.retriable


def test_a_slow_response_ends_with_the_deadline() -> None:
    def trickle(sock: socket.socket) -> None:
        sock.settimeout(0.2)
        for _ in range(50):
            sock.sendall(b"H")
            try:
                if not sock.recv(1):
                    return
            except TimeoutError:
                continue

    with responding(trickle) as url:
        started = time.monotonic()
        with pytest.raises(KafkaTimeoutError):
            post_to(url, ms=500)
        assert time.monotonic() - started < 5


def test_over_tls(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(authority_pem())

    def serve(sock: socket.socket) -> None:
        with server_context().wrap_socket(sock, server_side=True) as secured:
            read_request(secured)
            secured.sendall(OK)

    with listening(serve) as address:
        url = f"https://{address}"
        assert post_to(url, ca_location=str(tmp_path / "ca.pem")) == HttpResponse(200, b"{}")
        with pytest.raises(TlsError, match="not trusted here"):
            post_to(url)


class _Bytes(Transport):
    """A transport that returns the data in pieces, then closes."""

    def __init__(self, data: bytes, piece: int) -> None:
        self._pieces = [data[i : i + piece] for i in range(0, len(data), piece)]

    def read(self, wanted_bytes: int, deadline: Deadline) -> bytes:
        if not self._pieces:
            raise ClosedByPeerError("closed")
        return self._pieces.pop(0)


@given(
    st.one_of(
        st.binary(max_size=200), st.binary(max_size=100).map(lambda b: b"HTTP/1.1 200 OK\r\n" + b)
    ),
    st.integers(1, 300),
)
def test_any_bytes_raise_only_kafka_errors(data: bytes, piece: int) -> None:
    try:
        _read_response(_Bytes(data, piece), Address("idp", 1), Deadline.after(SOON), MAX_BODY_BYTES)
    except (ProtocolError, ClosedByPeerError) as error:
        assert str(error).startswith("idp:1")


@given(st.integers(1, 60))
def test_the_size_of_reads_makes_no_difference(piece: int) -> None:
    soon = Deadline.after(SOON)
    response = _read_response(_Bytes(OK, piece), Address("idp", 1), soon, MAX_BODY_BYTES)
    assert response == HttpResponse(200, b"{}")


def test_an_endless_chunk_is_limited() -> None:
    """`http.client` reads a chunk of -1 bytes to the end of the stream."""

    def flood(sock: socket.socket) -> None:
        sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n")
        with suppress(OSError):
            for _ in range(64):
                sock.sendall(bytes(1024 * 1024))

    with responding(flood) as url, pytest.raises(ResponseTooLongError, match="longer than"):
        post_to(url)


@pytest.mark.parametrize("text", ["a\r\nEvil: 1", "a\nb", "a\0", "\x85", "\u2028"])
def test_no_line_has_a_control_character(text: str) -> None:
    """Whoever makes a header or a path: it is checked where the request is written."""
    for request in (
        HttpRequest("GET", "http://h/x", {"A": text}),
        HttpRequest("GET", "http://h/x", {text: "a"}),
        HttpRequest(f"GET {text}", "http://h/x", {}),
    ):
        with pytest.raises(ProtocolError, match="has a control character"):
            _encoded(request, "close")
