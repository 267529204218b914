"""Connecting with TLS to servers of Python's own, each with one fault (fault 3, fault 51)."""

from __future__ import annotations

import socket
import ssl
import sys
import threading
import time
from contextlib import closing
from typing import Any

import pytest
import trustme

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.connect import connect, connect_tcp, use_opener
from kafka_protocol.client.network.transport import ClosedByPeerError, Stream
from kafka_protocol.errors import BrokerConnectionError, KafkaTimeoutError, TlsError
from tests.fakes.tls import (
    HOST,
    certificate,
    connected_to,
    echoing,
    expired,
    listening,
    new_context,
    old_context,
    pem,
    server_context,
    untrusted_authority,
)


def identity(own: trustme.LeafCert) -> dict[str, Any]:
    return {
        "keystore_key": Secret(pem(own.private_key_pem)),
        "keystore_certificate_chain": pem(own.cert_chain_pems[0]),
    }


def open_and_close(address: Address, **options: Any) -> None:
    with connected_to(address, **options):
        pass


REFUSED: dict[str, tuple[ssl.SSLContext, str, dict[str, Any], str]] = {
    "host name": (server_context(certificate("other")), HOST, {}, "not for that host"),
    "address": (server_context(certificate("other")), "127.0.0.1", {}, "not for that host"),
    "expired": (server_context(expired()), HOST, {}, "has expired"),
    "authority": (
        server_context(untrusted_authority().issue_cert(HOST)),
        *(HOST, {}, "not trusted here; set"),
    ),
    "old": (old_context(), HOST, {}, r"no version of TLS that is enabled .*enabled\.protocols"),
    "new": (new_context(), HOST, {"enabled_protocols": ("TLSv1.2",)}, "no version of"),
}


@pytest.mark.parametrize(
    ("context", "host", "options", "reason"), REFUSED.values(), ids=REFUSED.keys()
)
def test_fault_51_untrusted_and_incompatible_servers(
    context: ssl.SSLContext, host: str, options: dict[str, Any], reason: str
) -> None:
    with echoing(context) as listener:
        address = Address(host, listener.port)
        with pytest.raises(TlsError, match=rf"^{address}.*{reason}") as caught:
            open_and_close(address, **options)
    assert not caught.value.retriable


def test_without_host_name_check_any_trusted_certificate_passes() -> None:
    with echoing(server_context(certificate("other"))) as address:
        open_and_close(address, endpoint_identification="")


def test_a_server_certificate_itself_may_be_trusted() -> None:
    """As in Java; OpenSSL by default needs the authority."""
    own = certificate()
    with echoing(server_context(own)) as address:
        open_and_close(address, truststore_certificates=pem(own.cert_chain_pems[0]))


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, r"client's certificate: set kafka\.ssl\.keystore\.location"),
        (identity(untrusted_authority().issue_cert("client")), "client's certificate: set"),
    ],
    ids=["none", "untrusted"],
)
def test_fault_51_missing_or_refused_client_certificates(
    version: str, options: dict[str, Any], reason: str
) -> None:
    """With TLS 1.3 the client sees the refusal at its first read, after the handshake."""
    with echoing(server_context(wants_client=True)) as address:
        with pytest.raises(TlsError, match=rf"^{address}: no TLS connection: .*{reason}"):
            with connected_to(address, enabled_protocols=(version,), **options) as transport:
                transport.read(1, Deadline.after(5_000))


def test_accepted_client_certificates() -> None:
    with echoing(server_context(wants_client=True)) as address:
        with connected_to(address, **identity(certificate("client"))) as transport:
            transport.write([b"!"], Deadline.after(5_000))
            assert transport.read(1, Deadline.after(5_000)) == b"!"


def test_listeners_without_tls() -> None:
    with listening(lambda sock: sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as address:
        with pytest.raises(TlsError, match="does not speak TLS; check the port"):
            open_and_close(address)


def test_listeners_that_close_on_tls() -> None:
    """A plaintext broker does so, and any broker that is going down."""
    with listening(lambda sock: sock.recv(1)) as address:
        with pytest.raises(ClosedByPeerError, match="in the TLS handshake; does this listener"):
            open_and_close(address)


def test_silent_listeners_end_with_the_deadline() -> None:
    done = threading.Event()
    with listening(lambda _: done.wait(10)) as address:
        started = time.monotonic()
        with pytest.raises(KafkaTimeoutError, match="TLS handshake did not end within"):
            open_and_close(address, ms=200)
        done.set()
    assert time.monotonic() - started < 5


def test_a_cipher_suite_that_is_not_listed() -> None:
    with echoing(server_context()) as address:
        with pytest.raises(TlsError, match=r"TLS_AES_256_GCM_SHA384.*does not list it"):
            open_and_close(address, cipher_suites=("TLS_CHACHA20_POLY1305_SHA256",))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other names")
def test_the_system_keeps_a_quiet_connection_alive() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = Address("127.0.0.1", server.getsockname()[1])
        with closing(connect_tcp(address, Deadline.after(5_000))) as sock:
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
            assert [
                sock.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names
            ] == [60, 10, 3]


def test_connection_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address("127.0.0.1", listener.getsockname()[1])
    with pytest.raises(BrokerConnectionError, match=rf"^{address}: connection refused$"):
        open_and_close(address)


def test_connections_can_be_opened_in_another_way() -> None:
    address, opened = Address("broker-1.test", 9092), list[Address]()

    def opener(to: Address, security: SecurityOptions, deadline: Deadline) -> Stream:
        opened.append(to)
        raise BrokerConnectionError("nobody is there")

    with use_opener(opener), pytest.raises(BrokerConnectionError, match="nobody"):
        connect(address, SecurityOptions(), Deadline.after(1_000))
    assert opened == [address]
    with pytest.raises(BrokerConnectionError, match=r"port must be"):
        connect(Address("localhost", 0), SecurityOptions(), Deadline.after(1_000))
