from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_spark_source.testing.processes.ports import HOST
from tests.endurance.proxy import Proxy

SECONDS = 30


@contextmanager
def echo() -> Iterator[tuple[str, int]]:
    """A server that returns all that it gets."""
    with socket.create_server((HOST, 0)) as listener:

        def serve(connection: socket.socket) -> None:
            with connection:
                try:
                    while data := connection.recv(65536):
                        connection.sendall(data)
                except OSError:
                    pass

        def accept() -> None:
            while True:
                try:
                    connection = listener.accept()[0]
                except OSError:
                    return
                threading.Thread(target=serve, args=[connection], daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with echo() as target, Proxy(HOST, 0, target) as proxy:
        yield proxy


@contextmanager
def connected(proxy: Proxy) -> Iterator[socket.socket]:
    with socket.create_connection((HOST, proxy.port), SECONDS) as client:
        yield client


def send(client: socket.socket, data: bytes) -> bytes:
    client.sendall(data)
    received = b""
    while len(received) < len(data):
        received += client.recv(65536)
    return received


def expect_reset(proxy: Proxy) -> None:
    """Of a new connection, while it is made or after."""
    with pytest.raises(ConnectionResetError):
        with connected(proxy) as client:
            client.recv(1)


def test_all_bytes_pass_in_both_directions(proxy: Proxy) -> None:
    with connected(proxy) as client:
        data = bytes(range(256)) * 400
        assert send(client, data) == data


def test_cut_connections_are_reset_and_new_ones_work(proxy: Proxy) -> None:
    with connected(proxy) as client:
        send(client, b"before")
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    with connected(proxy) as client:
        assert send(client, b"after") == b"after"


def test_half_open_connections_stay_open_and_pass_nothing(proxy: Proxy) -> None:
    with connected(proxy) as client:
        send(client, b"before")
        proxy.silence()
        client.sendall(b"lost")
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(1)
        with connected(proxy) as other:
            assert send(other, b"after") == b"after"


def test_delayed_bytes_come_later(proxy: Proxy) -> None:
    proxy.delay(0.1)
    with connected(proxy) as client:
        begin = time.monotonic()
        assert send(client, b"late") == b"late"
        assert time.monotonic() - begin >= 0.2


def test_refused_connections_are_reset_until_accepted(proxy: Proxy) -> None:
    proxy.refuse()
    expect_reset(proxy)
    proxy.accept()
    with connected(proxy) as client:
        assert send(client, b"after") == b"after"


def test_without_the_server_connections_are_reset() -> None:
    with socket.create_server((HOST, 0)) as listener:
        target = listener.getsockname()
    with Proxy(HOST, 0, target) as proxy:
        expect_reset(proxy)
