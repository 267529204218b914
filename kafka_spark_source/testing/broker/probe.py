"""Checks that a broker or ZooKeeper is up: ApiVersions v0, Metadata v0, and `dump`.

It does not use the protocol package, because the tests of that package use this one. No records, no
retries, no waiting.
"""

from __future__ import annotations

import re
import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

METADATA = 3
_API_VERSIONS = 18
_CORRELATION_ID = 7
_CLIENT_ID = b"pykafka-probe"
_MAX_RESPONSE_BYTES = 16 << 20
_TIMEOUT_SECONDS = 5.0

Address = tuple[str, int]


def accepts(address: Address) -> bool:
    """Whether a process listens on the address."""
    try:
        socket.create_connection(address, _TIMEOUT_SECONDS).close()
    except OSError:
        return False
    return True


def answers_api_versions(address: Address, tls: ssl.SSLContext | None = None) -> bool:
    """Whether a broker answers ApiVersions v0 without an error; it needs no authentication."""
    try:
        response = request(address, _API_VERSIONS, b"", tls=tls)
        (error,) = struct.unpack_from(">h", response)
    except (OSError, ValueError, struct.error):
        return False
    return bool(error == 0)


def registered_brokers(address: Address) -> frozenset[int]:
    """The node ids in a broker's Metadata v0 response; empty without a response."""
    try:
        # In version 0, an empty array means all topics.
        return _node_ids(request(address, METADATA, struct.pack(">i", 0)))
    except (OSError, ValueError, struct.error):
        return frozenset()


def zookeeper_serves(address: Address) -> bool:
    """Whether ZooKeeper has its data, so that connections can come and go.

    One that ends before, without a command, is never closed: its thread reads the end again and
    again, with a line in the log each time (seen in 3.4.9 and 3.4.10).
    """
    return b"ephemeral nodes dump" in _dump(address)


def zookeeper_brokers(address: Address) -> frozenset[int]:
    """The node ids that brokers registered in ZooKeeper."""
    node_ids = re.findall(rb"/brokers/ids/(\d+)", _dump(address))
    return frozenset(int(node_id) for node_id in node_ids)


def _dump(address: Address) -> bytes:
    """ZooKeeper's response to its own command `dump`; empty without a complete one."""
    dump = b""
    try:
        with socket.create_connection(address, _TIMEOUT_SECONDS) as stream:
            stream.sendall(b"dump")
            while piece := stream.recv(1 << 16):
                dump += piece
    except OSError:
        return b""
    return dump


def request(
    address: Address, api: int, body: bytes, *, version: int = 0, tls: ssl.SSLContext | None = None
) -> bytes:
    """The body of a broker's response to a request whose version is not flexible.

    Raises:
        OSError, ValueError: There is no complete response of a broker.
    """
    header = struct.pack(">hhih", api, version, _CORRELATION_ID, len(_CLIENT_ID)) + _CLIENT_ID
    with socket.create_connection(address, _TIMEOUT_SECONDS) as plain:
        stream = tls.wrap_socket(plain, server_hostname=address[0]) if tls else plain
        with stream:
            stream.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
            (size,) = struct.unpack(">i", _read(stream, 4))
            if not 4 <= size <= _MAX_RESPONSE_BYTES:
                raise ValueError(f"{address} is not a Kafka broker")
            response = _read(stream, size)
    (correlation_id,) = struct.unpack_from(">i", response)
    if correlation_id != _CORRELATION_ID:
        raise ValueError(f"{address} is not a Kafka broker")
    return response[4:]


def _read(stream: socket.socket, size: int) -> bytes:
    pieces = b""
    while len(pieces) < size:
        piece = stream.recv(size - len(pieces))
        if not piece:
            raise ConnectionError("the peer closed the connection")
        pieces += piece
    return pieces


def _node_ids(metadata: bytes) -> frozenset[int]:
    (count,) = struct.unpack_from(">i", metadata)
    position = 4
    node_ids = set()
    for _ in range(count):
        node_id, host_length = struct.unpack_from(">ih", metadata, position)
        node_ids.add(node_id)
        position += 4 + 2 + host_length + 4
    return frozenset(node_ids)
