"""Proxies of the environment: which server gets one, the tunnel, and what a proxy may say."""

from __future__ import annotations

import base64
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network import http_proxy
from kafka_protocol.client.network.http_proxy import open_tunnel, proxy_for
from kafka_protocol.client.network.http_request import HttpRequest, HttpResponse, send
from kafka_protocol.errors import (
    AuthenticationError,
    BrokerConnectionError,
    KafkaConfigError,
    KafkaError,
)
from tests.fakes.tls import authority_pem, listening, server_context
from tests.secret_check import PASSWORD

SERVER = Address("registry.example.com", 443)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
TUNNEL = b"HTTP/1.1 200 Connection established\r\n\r\n"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*http_proxy._VARIABLES, "no_proxy", "NO_PROXY", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)


def soon() -> Deadline:
    return Deadline.after(5_000)


@pytest.mark.parametrize(
    ("variables", "server", "expected"),
    [
        ({}, SERVER, None),
        ({"http_proxy": "http://p:1"}, SERVER, None),
        ({"https_proxy": "http://p:1"}, SERVER, Address("p", 1)),
        ({"HTTPS_PROXY": "p:1"}, SERVER, Address("p", 1)),
        ({"all_proxy": "http://p"}, SERVER, Address("p", 80)),
        ({"https_proxy": "http://[::1]:3"}, SERVER, Address("::1", 3)),
        ({"https_proxy": "http://p:1", "no_proxy": "other,.example.com"}, SERVER, None),
        ({"https_proxy": "http://p:1", "no_proxy": "*"}, SERVER, None),
        ({"https_proxy": "http://p:1", "no_proxy": "example.org"}, SERVER, Address("p", 1)),
        ({"https_proxy": "http://p:1"}, Address("localhost", 1), None),
        ({"https_proxy": "http://p:1"}, Address("127.0.0.2", 1), None),
        ({"https_proxy": "http://p:1"}, Address("::1", 1), None),
    ],
)
def test_which_server_gets_a_proxy(
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    server: Address,
    expected: Address | None,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    proxy = proxy_for(server)
    assert (proxy and proxy.address) == expected


@pytest.mark.parametrize(
    "url",
    ["https://p:1", "socks5://p:1", "http://", "http://u:{0}@p:x", "http://[p:1", "ftp://{0}"],
)
def test_what_is_no_http_proxy(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("https_proxy", url.format(PASSWORD))
    with pytest.raises(KafkaConfigError, match="https_proxy must be http://host:port") as caught:
        proxy_for(SERVER)
    assert PASSWORD not in str(caught.value)


def test_a_request_goes_through_the_tunnel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The name of the server is in its certificate; the proxy sees neither path nor header."""
    (tmp_path / "ca.pem").write_text(authority_pem())
    asked: list[bytes] = []

    def serve(sock: socket.socket) -> None:
        asked.append(sock.recv(4096))
        sock.sendall(TUNNEL)
        with server_context().wrap_socket(sock, server_side=True) as secured:
            asked.append(secured.recv(4096))
            secured.sendall(OK)

    with listening(serve) as address:
        monkeypatch.setenv("https_proxy", f"http://me:{PASSWORD}%20@{address}")
        monkeypatch.setattr(http_proxy, "_is_here", lambda _: False)
        tls = SecurityOptions(truststore_location=str(tmp_path / "ca.pem"))
        request = HttpRequest("GET", "https://localhost:8443/subjects", {"Authorization": "t"})
        assert send(request, tls, soon(), 100) == HttpResponse(200, b"{}")
    connect, inner = asked
    first, *headers = connect.decode().split("\r\n")
    assert first == "CONNECT localhost:8443 HTTP/1.1"
    login = base64.b64encode(f"me:{PASSWORD} ".encode()).decode()
    assert headers == ["Host: localhost:8443", f"Proxy-Authorization: Basic {login}", "", ""]
    assert b"GET /subjects" in inner


def test_http_goes_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(sock: socket.socket) -> None:
        sock.recv(4096)
        sock.sendall(OK)

    monkeypatch.setattr(http_proxy, "_is_here", lambda _: False)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    with listening(serve) as address:
        request = HttpRequest("GET", f"http://{address}/", {})
        assert send(request, SecurityOptions(), soon(), 100).status == 200


@pytest.mark.parametrize(
    ("response", "kind", "text"),
    [
        (b"HTTP/1.1 407 Login\r\nProxy-Authenticate: Basic\r\n\r\n", AuthenticationError, "wants"),
        (b"HTTP/1.1 403 No\r\n\r\n", BrokerConnectionError, "responded with 403"),
        (b"HTTP/1.1 302 Found\r\nLocation: x\r\n\r\n", BrokerConnectionError, "with 302"),
        (b"hello\r\n\r\n", BrokerConnectionError, "something else than HTTP"),
        (TUNNEL + b"more", BrokerConnectionError, "more than a response"),
        (b"x" * 70_000, BrokerConnectionError, "more than a response"),
        (b"", BrokerConnectionError, "closed"),
    ],
)
def test_proxies_that_do_not_connect(response: bytes, kind: type[KafkaError], text: str) -> None:
    with listening(answering(response)) as address:
        proxy = http_proxy.Proxy(address, None)
        with pytest.raises(kind, match=text):
            open_tunnel(proxy, SERVER, soon())


def answering(response: bytes) -> Callable[[socket.socket], None]:
    def serve(sock: socket.socket) -> None:
        sock.recv(4096)
        with suppress(OSError):  # it may be closed in between
            sock.sendall(response)

    return serve


def test_control_characters() -> None:
    with listening(answering(TUNNEL)) as address:
        proxy = http_proxy.Proxy(address, None)
        with pytest.raises(KafkaConfigError, match="control character"):
            open_tunnel(proxy, Address("a\r\nX: y", 1), soon())


@given(st.text())
def test_any_url_is_a_proxy_or_refused(url: str) -> None:
    try:
        proxy = http_proxy._parsed(url)
    except KafkaConfigError:
        return
    assert proxy.address.host
