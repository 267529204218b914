"""Probes of a peer that sends one response and closes the connection."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from kafka_spark_source.testing.broker import probe
from kafka_spark_source.testing.processes.ports import HOST

StartPeer = Callable[[bytes], probe.Address]


@pytest.fixture
def responding_peer() -> Iterator[StartPeer]:
    threads = []

    def start(data: bytes) -> probe.Address:
        server = socket.create_server((HOST, 0))

        def serve() -> None:
            with server:
                connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(data)

        thread = threading.Thread(target=serve)
        thread.start()
        threads.append(thread)
        address: probe.Address = server.getsockname()
        return address

    yield start
    for thread in threads:
        thread.join()


@pytest.fixture
def closed_port() -> probe.Address:
    with socket.create_server((HOST, 0)) as server:
        address: probe.Address = server.getsockname()
    return address


def response(body: bytes, correlation_id: int = 7) -> bytes:
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


def test_api_versions_without_an_error(responding_peer: StartPeer) -> None:
    assert probe.answers_api_versions(responding_peer(response(struct.pack(">hi", 0, 0))))


@pytest.mark.parametrize(
    "data",
    [
        response(struct.pack(">hi", 35, 0)),
        response(b""),
        response(struct.pack(">hi", 0, 0), correlation_id=8),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        struct.pack(">i", 3),
        b"",
    ],
    ids=["error", "empty", "wrong correlation id", "http", "too short", "no bytes"],
)
def test_api_versions_with_anything_else(responding_peer: StartPeer, data: bytes) -> None:
    assert not probe.answers_api_versions(responding_peer(data))


def test_brokers_from_metadata(responding_peer: StartPeer) -> None:
    brokers = b"".join(
        struct.pack(">ih", node_id, 9) + b"127.0.0.1" + struct.pack(">i", 9092)
        for node_id in (1, 3)
    )
    body = struct.pack(">i", 2) + brokers + struct.pack(">i", 0)
    assert probe.registered_brokers(responding_peer(response(body))) == {1, 3}
    assert probe.registered_brokers(responding_peer(response(body[:9]))) == set()


def test_brokers_from_zookeeper(responding_peer: StartPeer) -> None:
    dump = (
        b"Sessions with Ephemerals (2):\n0x1:\n\t/brokers/ids/1\n\t/controller\n\t/brokers/ids/12\n"
    )
    assert probe.zookeeper_brokers(responding_peer(dump)) == {1, 12}


@pytest.mark.parametrize(
    ("dump", "serves"),
    [
        (b"SessionTracker dump:\nSession Sets (0):\nephemeral nodes dump:\nSessions (0):\n", True),
        (b"This ZooKeeper instance is not currently serving requests\n", False),
        (b"SessionTracker dump:\n", False),
        (b"", False),
    ],
    ids=["complete", "not yet", "cut", "nothing"],
)
def test_zookeeper_serves(responding_peer: StartPeer, dump: bytes, serves: bool) -> None:
    assert probe.zookeeper_serves(responding_peer(dump)) is serves


def test_probes_of_a_closed_port(closed_port: probe.Address) -> None:
    assert not probe.accepts(closed_port)
    assert not probe.answers_api_versions(closed_port)
    assert not probe.registered_brokers(closed_port)
    assert not probe.zookeeper_brokers(closed_port)
    assert not probe.zookeeper_serves(closed_port)
