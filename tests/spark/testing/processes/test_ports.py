"""Ports from the kernel."""

import socket
import sys
from collections.abc import Iterator

import pytest

from kafka_spark_source.testing import LocalBrokerError
from kafka_spark_source.testing.processes.ports import HOST, HeldPorts


@pytest.fixture
def ports() -> Iterator[HeldPorts]:
    held = HeldPorts()
    yield held
    held.close()


def listen(port: int) -> socket.socket:
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((HOST, port))
    server.listen()
    return server


def test_ports_differ(ports: HeldPorts) -> None:
    assert len({ports.take() for _ in range(50)}) == 50


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere ports cannot be held")
def test_reserved_port_can_be_used_by_the_server(ports: HeldPorts) -> None:
    port = ports.take()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, port)).close()
    for _start_and_restart in range(2):
        with listen(port), socket.create_connection((HOST, port)):
            pass


def test_given_port_is_reserved_or_rejected(ports: HeldPorts) -> None:
    free = HeldPorts()
    port = free.take()
    free.close()
    assert ports.take(port) == port
    ports.close()
    with (
        listen(port),
        pytest.raises(LocalBrokerError, match=f"port {port} of 127.0.0.1 cannot be used"),
    ):
        ports.take(port)
