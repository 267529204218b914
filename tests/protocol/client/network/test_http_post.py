"""One POST: what is sent, what may come back, and the deadline over all of it."""

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
from kafka_protocol.client.config.client import Address
from kafka_protocol.client.network.http_post import Answer, _read_answer, post
from kafka_protocol.client.network.transport import ClosedByPeerError, Transport
from kafka_protocol.errors import BrokerConnectionError, KafkaTimeoutError, ProtocolError, TlsError
from tests.fakes.tls import authority_pem, listening, server_context

SOON = 5_000
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def read_request(sock: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\nbody" not in data:
        data += sock.recv(4096)
    return data


@contextmanager
def answering(
    reply: bytes | Callable[[socket.socket], None], requests: list[bytes] | None = None
) -> Iterator[str]:
    """A server that reads a request, answers, and closes."""

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


def post_to(url: str, ms: float = SOON, ca_location: str | None = None) -> Answer:
    return post(url, {"X-Test": "1"}, b"body", ca_location, Deadline.after(ms))


def test_what_is_sent() -> None:
    requests: list[bytes] = []
    with answering(OK, requests) as url:
        assert post_to(f"{url}/a/b?c=d") == Answer(200, b"{}")
    host = url.removeprefix("http://")
    assert requests == [
        b"POST /a/b?c=d HTTP/1.1\r\nHost: " + host.encode() + b"\r\nConnection: close\r\n"
        b"Content-Length: 4\r\nX-Test: 1\r\n\r\nbody"
    ]


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (OK, Answer(200, b"{}")),
        (OK + b"more", Answer(200, b"{}")),
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", Answer(200, b"to the end")),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
            Answer(200, b"abcde"),
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, Answer(200, b"{}")),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n",
            Answer(302, b""),
        ),
        (b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", Answer(401, b"")),
    ],
)
def test_answers(reply: bytes, answer: Answer) -> None:
    with answering(reply) as url:
        assert post_to(url) == answer


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (b"", "is not HTTP: RemoteDisconnected"),
        (b"SSH-2.0\r\n", "is not HTTP: BadStatusLine"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n", "is not HTTP: HTTPException"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + bytes(1024 * 1024 + 1), "is longer than 1048576 bytes"),
    ],
)
def test_what_is_no_answer(reply: bytes, reason: str) -> None:
    with answering(reply) as url, pytest.raises(ProtocolError, match=reason):
        post_to(url)


def test_an_answer_that_is_cut_short() -> None:
    """Another try may get the rest."""
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"
    with answering(reply) as url, pytest.raises(ClosedByPeerError, match="in the middle of its"):
        post_to(url)


def test_drops_of_an_answer_end_with_the_deadline() -> None:
    def trickle(sock: socket.socket) -> None:
        sock.settimeout(0.2)
        for _ in range(50):
            sock.sendall(b"H")
            try:
                if not sock.recv(1):
                    return
            except TimeoutError:
                continue

    with answering(trickle) as url:
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
        assert post_to(url, ca_location=str(tmp_path / "ca.pem")) == Answer(200, b"{}")
        with pytest.raises(TlsError, match=r"not trusted here.*kafka\.https\.ca\.location"):
            post_to(url)


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(BrokerConnectionError, match="connection refused"):
        post_to(f"http://127.0.0.1:{port}")


class _Bytes(Transport):
    """A transport that gives bytes in pieces, and ends."""

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
def test_nothing_but_our_own_errors_comes_out(data: bytes, piece: int) -> None:
    try:
        _read_answer(_Bytes(data, piece), Address("idp", 1), Deadline.after(SOON))
    except (ProtocolError, ClosedByPeerError) as error:
        assert str(error).startswith("idp:1")


@given(st.integers(1, 60))
def test_pieces_of_any_size_make_the_same_answer(piece: int) -> None:
    answer = _read_answer(_Bytes(OK, piece), Address("idp", 1), Deadline.after(SOON))
    assert answer == Answer(200, b"{}")


def test_a_chunk_without_an_end_is_not_swallowed() -> None:
    """`http.client` takes a chunk of -1 bytes for all that comes."""

    def flood(sock: socket.socket) -> None:
        sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n")
        with suppress(OSError):
            for _ in range(64):
                sock.sendall(bytes(1024 * 1024))

    with answering(flood) as url, pytest.raises(ProtocolError, match="longer than"):
        post_to(url)
