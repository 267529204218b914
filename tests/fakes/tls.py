"""TLS servers of Python's own, with certificates that no real broker can be made to show.

One certificate authority for a session, made by trustme.
"""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import trustme

from kafka_protocol.client.config.client import Address

HOST = "localhost"


@cache
def authority() -> trustme.CA:
    return trustme.CA()


@cache
def stranger() -> trustme.CA:
    """An authority that nobody trusts."""
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
    """A server that knows nothing newer than TLS 1.1."""
    context = server_context()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1_1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[Address]:
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
                        pass  # whoever tests it looks at the other side

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield Address(HOST, listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=20)
            assert not thread.is_alive()


@contextmanager
def echoing(context: ssl.SSLContext) -> Iterator[Address]:
    """A server that sends back, over TLS, what it gets."""

    def serve(sock: socket.socket) -> None:
        with context.wrap_socket(sock, server_side=True) as secured:
            while data := secured.recv(65536):
                secured.sendall(data)

    with listening(serve) as address:
        yield address
