"""Probes against a listener that says one thing and hangs up."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from kafka_spark_source.testing import probe
from kafka_spark_source.testing.ports import HOST

Talk = Callable[[bytes], probe.Address]


@pytest.fixture
def peer_that_says() -> Iterator[Talk]:
    threads = []

    def talk(answer: bytes) -> probe.Address:
        server = socket.create_server((HOST, 0))

        def serve() -> None:
            with server:
                connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        threads.append(thread)
        address: probe.Address = server.getsockname()
        return address

    yield talk
    for thread in threads:
        thread.join()


@pytest.fixture
def nobody() -> probe.Address:
    with socket.create_server((HOST, 0)) as server:
        address: probe.Address = server.getsockname()
    return address


def response(body: bytes, correlation_id: int = 7) -> bytes:
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


def test_api_versions_without_an_error_is_a_yes(peer_that_says: Talk) -> None:
    assert probe.answers_api_versions(peer_that_says(response(struct.pack(">hi", 0, 0))))


@pytest.mark.parametrize(
    "answer",
    [
        response(struct.pack(">hi", 35, 0)),
        response(b""),
        response(struct.pack(">hi", 0, 0), correlation_id=8),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        struct.pack(">i", 3),
        b"",
    ],
    ids=["error", "empty", "not ours", "http", "too short", "silence"],
)
def test_anything_else_is_a_no(peer_that_says: Talk, answer: bytes) -> None:
    assert not probe.answers_api_versions(peer_that_says(answer))


def test_metadata_names_the_brokers(peer_that_says: Talk) -> None:
    brokers = b"".join(
        struct.pack(">ih", node_id, 9) + b"127.0.0.1" + struct.pack(">i", 9092)
        for node_id in (1, 3)
    )
    body = struct.pack(">i", 2) + brokers + struct.pack(">i", 0)
    assert probe.registered_brokers(peer_that_says(response(body))) == {1, 3}
    assert probe.registered_brokers(peer_that_says(response(body[:9]))) == set()


def test_zookeeper_names_the_brokers(peer_that_says: Talk) -> None:
    dump = (
        b"Sessions with Ephemerals (2):\n0x1:\n\t/brokers/ids/1\n\t/controller\n\t/brokers/ids/12\n"
    )
    assert probe.zookeeper_brokers(peer_that_says(dump)) == {1, 12}


def test_where_nobody_listens_every_answer_is_no(nobody: probe.Address) -> None:
    assert not probe.accepts(nobody)
    assert not probe.answers_api_versions(nobody)
    assert not probe.registered_brokers(nobody)
    assert not probe.zookeeper_brokers(nobody)
