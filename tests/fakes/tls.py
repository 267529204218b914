"""Servers that are not brokers, plain and TLS, with certificates that no real broker has.

One certificate authority for a session, made by trustme.
"""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from typing import Any

import trustme

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.connect import connect
from kafka_protocol.client.network.transport import Stream

HOST = "localhost"


@cache
def authority() -> trustme.CA:
    return trustme.CA()


@cache
def untrusted_authority() -> trustme.CA:
    return trustme.CA()


@cache
def certificate(*names: str) -> trustme.LeafCert:
    return authority().issue_cert(*(names or (HOST,)))


@cache
def expired() -> trustme.LeafCert:
    yesterday = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)
    return authority().issue_cert(HOST, not_after=yesterday)


def pem(blob: trustme.Blob) -> str:
    return blob.bytes().decode()


def authority_pem() -> str:
    return pem(authority().cert_pem)


def server_context(
    own: trustme.LeafCert | None = None, *, wants_client: bool = False
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (own or certificate()).configure_cert(context)
    if wants_client:
        authority().configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def old_context() -> ssl.SSLContext:
    """A server without any version newer than TLS 1.1."""
    context = server_context()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1_1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


def new_context() -> ssl.SSLContext:
    """A server without any version older than TLS 1.3."""
    context = server_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


@contextmanager
def listening(serve: Callable[[socket.socket], object]) -> Iterator[Address]:
    """A server that gives each connection, one after the other, to `serve`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    sock, _ = listener.accept()
                except OSError:
                    return
                with sock:
                    sock.settimeout(10)
                    try:
                        serve(sock)
                    except OSError:
                        pass  # the tests check the client's side

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield Address(HOST, listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=20)
            assert not thread.is_alive()


@contextmanager
def foreign_server(reply: bytes) -> Iterator[Address]:
    """A server of another protocol: reads once, sends `reply`, and closes."""

    def serve(sock: socket.socket) -> None:
        sock.recv(4096)
        sock.sendall(reply)

    with listening(serve) as address:
        yield address


@contextmanager
def echoing(context: ssl.SSLContext) -> Iterator[Address]:
    """A server that sends back, over TLS, the bytes it receives."""

    def serve(sock: socket.socket) -> None:
        with context.wrap_socket(sock, server_side=True) as secured:
            while data := secured.recv(65536):
                secured.sendall(data)

    with listening(serve) as address:
        yield address


@contextmanager
def connected_to(address: Address, *, ms: float = 5_000, **options: Any) -> Iterator[Stream]:
    """A TLS transport whose client trusts our authority, with other security options."""
    trust = {"protocol": "SSL", "truststore_certificates": authority_pem()}
    with closing(
        connect(address, SecurityOptions(**(trust | options)), Deadline.after(ms))
    ) as transport:
        yield transport
