"""Transports: reads and writes over TLS, and their deadlines."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.network.transport import ClosedByPeerError, Stream, Transport
from kafka_protocol.errors import BrokerConnectionError, KafkaTimeoutError
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.fakes.tls import connected_to, echoing, listening, server_context

SOON = 5_000


def read_all(transport: Stream, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += transport.read(size - len(data), Deadline.after(SOON))
    return data


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_echoed_bytes_are_those_sent(version: str) -> None:
    pieces = [b"head", bytes(range(256)) * 400, b"", b"tail"]
    with echoing(server_context()) as address:
        with connected_to(address, enabled_protocols=(version,)) as transport:
            for _ in range(3):
                transport.write(pieces, Deadline.after(SOON))
                assert read_all(transport, 102408) == b"".join(pieces)
        assert repr(transport) == f"<Transport to {address}, closed>"


def test_a_write_larger_than_any_buffer() -> None:
    sent = bytes(4 * 1024 * 1024)
    received = bytearray()

    def serve(sock: socket.socket) -> None:
        with server_context().wrap_socket(sock, server_side=True) as secured:
            while len(received) < len(sent):
                received.extend(secured.recv(1024 * 1024))
            secured.sendall(b"done")

    with listening(serve) as address, connected_to(address) as transport:
        transport.write([sent], Deadline.after(30_000))
        assert transport.read(4, Deadline.after(30_000)) == b"done"
    assert bytes(received) == sent


def test_the_deadline_of_a_write_covers_all_its_tls_records() -> None:
    """`SSLSocket.sendall` would wait as long for each of them."""

    class OneRecordInTenSeconds(socket.socket):
        def send(self, data: Any, _flags: int = 0, /) -> int:
            if (self.gettimeout() or 0) < 10:
                raise TimeoutError
            let_pass(10)
            return min(len(data), 16 * 1024)

        def sendall(self, data: Any, _flags: int = 0, /) -> None:
            for _ in range(0, len(data), 16 * 1024):
                self.send(data)
                self.settimeout(15)

    with sleeps_take_no_time() as let_pass, OneRecordInTenSeconds() as sock:
        transport = Transport(sock, Address("peer", 9092))
        transport.write([bytes(16 * 1024)], Deadline.after(15_000))
        with pytest.raises(KafkaTimeoutError):
            transport.write([bytes(32 * 1024)], Deadline.after(15_000))


def test_buffered_data_is_seen_without_reading_it() -> None:
    ours, theirs = socket.socketpair()
    with theirs, ours:
        transport = Transport(ours, Address("peer", 9092))
        buffered = [transport.has_buffered_data]
        theirs.sendall(b"ab")
        buffered.append(transport.has_buffered_data)
        assert transport.read(1, Deadline.after(SOON)) == b"ab"
        buffered.append(transport.has_buffered_data)
        theirs.shutdown(socket.SHUT_WR)
        buffered.append(transport.has_buffered_data)
        assert buffered == [False, True, False, True]


def test_a_peer_that_closes_within_a_large_frame() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        transport = Transport(ours, Address("peer", 9092))
        theirs.sendall(b"ab")
        theirs.close()
        buffer = memoryview(bytearray(3))
        assert transport.read_into(buffer, Deadline.after(SOON)) == 2
        with pytest.raises(ClosedByPeerError, match="closed the connection"):
            transport.read_into(buffer, Deadline.after(SOON))


def test_a_peer_that_does_not_read_ends_with_the_deadline() -> None:
    done = threading.Event()

    def serve(sock: socket.socket) -> None:
        with server_context().wrap_socket(sock, server_side=True):
            done.wait(10)

    with listening(serve) as address, connected_to(address) as transport:
        started = time.monotonic()
        with pytest.raises(KafkaTimeoutError, match="the time to write to"):
            transport.write([bytes(64 * 1024 * 1024)], Deadline.after(300))
        done.set()
    assert time.monotonic() - started < 5


def test_a_close_of_the_peer_is_an_error() -> None:
    def serve(sock: socket.socket) -> None:
        with server_context().wrap_socket(sock, server_side=True) as secured:
            secured.recv(1)

    with listening(serve) as address, connected_to(address) as transport:
        transport.write([b"?"], Deadline.after(SOON))
        with pytest.raises(ClosedByPeerError, match=r"closed the connection|reset"):
            read_all(transport, 1)


def test_a_stream_that_is_closed_here_names_no_file_descriptor() -> None:
    """Another request on the connection has failed, and its error says why."""
    ours, theirs = socket.socketpair()
    with theirs:
        transport = Transport(ours, Address("peer", 9092))
        transport.close()
        for call in (
            lambda: transport.read(1, Deadline.after(SOON)),
            lambda: transport.write([b"a"], Deadline.after(SOON)),
        ):
            with pytest.raises(BrokerConnectionError) as raised:
                call()
            message = "the connection to peer:9092 is closed: another request on it failed"
            assert str(raised.value) == message
