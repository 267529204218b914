"""TLS streams: against servers of Python's own, each with one thing wrong (fault 3, fault 51)."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.transport import ClosedByPeerError, Transport, connect
from kafka_protocol.errors import KafkaTimeoutError, TlsError
from tests.fakes.tls import (
    authority_pem,
    certificate,
    echoing,
    expired,
    listening,
    old_context,
    pem,
    server_context,
    stranger,
)

SOON = 5_000


def security(**options: object) -> SecurityOptions:
    trust = {"protocol": "SSL", "truststore_certificates": authority_pem()}
    return SecurityOptions(**(trust | options))  # type: ignore[arg-type]


def identity(own: object = None) -> dict[str, object]:
    chosen = own or certificate("client")
    return {
        "keystore_key": Secret(pem(chosen.private_key_pem)),  # type: ignore[attr-defined]
        "keystore_certificate_chain": pem(chosen.cert_chain_pems[0]),  # type: ignore[attr-defined]
    }


def void(_: object) -> None:
    """For lambdas."""


@contextmanager
def stream_to(address: Address, **options: object) -> Iterator[Transport]:
    stream = connect(address, security(**options), Deadline.after(SOON))
    try:
        yield stream
    finally:
        stream.close()


def open_and_close(address: Address, **options: object) -> None:
    with stream_to(address, **options):
        pass


def read_all(stream: Transport, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += stream.read(size - len(data), Deadline.after(SOON))
    return data


@pytest.mark.parametrize("versions", [("TLSv1.2",), ("TLSv1.3",)])
def test_bytes_come_back_as_they_were(versions: tuple[str, ...]) -> None:
    pieces = [b"head", bytes(range(256)) * 400, b"", b"tail"]
    with echoing(server_context()) as address:
        with stream_to(address, enabled_protocols=versions) as stream:
            for _ in range(3):
                stream.write(pieces, Deadline.after(SOON))
                assert read_all(stream, 102408) == b"".join(pieces)
        assert repr(stream) == f"<Transport to {address}, closed>"


def test_more_than_fits_in_any_buffer() -> None:
    sent = bytes(4 * 1024 * 1024)
    received = []

    def serve(sock: socket.socket) -> None:
        with server_context().wrap_socket(sock, server_side=True) as secured:
            while len(received) < len(sent):
                received.extend(secured.recv(1024 * 1024))
            secured.sendall(b"done")

    with listening(serve) as address, stream_to(address) as stream:
        stream.write([sent], Deadline.after(30_000))
        assert stream.read(4, Deadline.after(30_000)) == b"done"
    assert bytes(received) == sent


REFUSED = {
    "host name": (server_context(certificate("other")), {}, "not for that host"),
    "address": (server_context(certificate("other")), {"host": "127.0.0.1"}, "not for that host"),
    "expired": (server_context(expired()), {}, "has expired"),
    "unknown": (server_context(stranger().issue_cert("localhost")), {}, "not trusted here; set"),
    "old": (old_context(), {}, r"no version of TLS that is enabled here .*enabled\.protocols"),
    "no common version": (server_context(), {"enabled_protocols": ("TLSv1.2",)}, "no version of"),
}
REFUSED["no common version"][0].minimum_version = ssl.TLSVersion.TLSv1_3


@pytest.mark.parametrize("name", REFUSED)
def test_servers_that_are_not_to_be_spoken_to(name: str) -> None:
    context, given, reason = REFUSED[name]
    options = dict(given)
    with echoing(context) as listener:
        address = Address(str(options.pop("host", listener.host)), listener.port)
        with pytest.raises(TlsError, match=rf"^{address}.*{reason}") as caught:
            open_and_close(address, **options)
    assert not caught.value.retriable


def test_without_host_names_any_trusted_certificate_passes() -> None:
    with echoing(server_context(certificate("other"))) as address:
        open_and_close(address, endpoint_identification="")


def test_a_certificate_itself_may_be_trusted() -> None:
    """As in Java; OpenSSL by itself wants the authority."""
    own = certificate()
    with echoing(server_context(own)) as address:
        open_and_close(address, truststore_certificates=pem(own.cert_chain_pems[0]))


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, r"client's certificate: set kafka\.ssl\.keystore\.location"),
        (identity(stranger().issue_cert("client")), "client's certificate: set"),
    ],
    ids=["none", "of a stranger"],
)
def test_client_certificates_that_are_missing_or_refused(
    version: str, options: dict[str, object], reason: str
) -> None:
    """With TLS 1.3 the client learns it at its first read, after a handshake that went well."""
    with echoing(server_context(wants_client=True)) as address:
        with pytest.raises(TlsError, match=rf"^{address}: no TLS connection: .*{reason}"):
            with stream_to(address, enabled_protocols=(version,), **options) as stream:
                read_all(stream, 1)


def test_client_certificates_that_are_accepted() -> None:
    with echoing(server_context(wants_client=True)) as address:
        with stream_to(address, **identity()) as stream:
            stream.write([b"hello"], Deadline.after(SOON))
            assert read_all(stream, 5) == b"hello"


def test_listeners_without_tls() -> None:
    with listening(lambda sock: sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as address:
        with pytest.raises(TlsError, match="does not speak TLS; check the port"):
            open_and_close(address)


def test_listeners_that_close_on_tls() -> None:
    """A broker does so; but it may also have been about to go down."""
    with listening(lambda sock: void(sock.recv(1))) as address:
        with pytest.raises(ClosedByPeerError, match="in the TLS handshake; does this listener"):
            open_and_close(address)


def test_silent_listeners_end_with_the_deadline() -> None:
    done = threading.Event()
    with listening(lambda _: void(done.wait(10))) as address:
        started = time.monotonic()
        with pytest.raises(KafkaTimeoutError, match="TLS handshake did not end within"):
            connect(address, security(), Deadline.after(200))
        done.set()
    assert time.monotonic() - started < 5


def test_what_has_come_is_seen_without_reading_it() -> None:
    ours, theirs = socket.socketpair()
    with theirs, ours:
        stream = Transport(ours, Address("peer", 9092))
        assert not stream.has_come
        theirs.sendall(b"ab")
        assert stream.has_come
        assert stream.read(1, Deadline.after(SOON)) == b"ab"
        assert not stream.has_come
        theirs.shutdown(socket.SHUT_WR)
        assert stream.has_come


def test_who_does_not_read_ends_with_the_deadline() -> None:
    done = threading.Event()

    def serve(sock: socket.socket) -> None:
        with server_context().wrap_socket(sock, server_side=True):
            done.wait(10)

    with listening(serve) as address, stream_to(address) as stream:
        started = time.monotonic()
        with pytest.raises(KafkaTimeoutError, match="the time to write to"):
            stream.write([bytes(64 * 1024 * 1024)], Deadline.after(300))
        done.set()
    assert time.monotonic() - started < 5


def test_a_close_is_a_close() -> None:
    def serve(sock: socket.socket) -> None:
        with server_context().wrap_socket(sock, server_side=True) as secured:
            secured.recv(1)

    with listening(serve) as address, stream_to(address) as stream:
        stream.write([b"?"], Deadline.after(SOON))
        with pytest.raises(ClosedByPeerError, match=r"closed the connection|reset"):
            read_all(stream, 1)


def test_a_suite_that_is_not_wanted() -> None:
    with echoing(server_context()) as address:
        with pytest.raises(TlsError, match=r"TLS_AES_256_GCM_SHA384.*does not list it"):
            open_and_close(address, cipher_suites=("TLS_CHACHA20_POLY1305_SHA256",))
