"""Look-ups of host names: real ones of this machine, and a resolver that does not respond."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.connect import connect
from kafka_protocol.client.network.host_names import candidates_of, ip_addresses
from kafka_protocol.errors import BrokerConnectionError


def soon() -> Deadline:
    return Deadline.after(30_000)


@pytest.fixture
def silent_resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The system's resolver does not respond, as when no DNS server can be reached."""
    known, is_over = socket.getaddrinfo, Event()

    def look_up(host: str, port: int, *, type: int, flags: int) -> Any:  # noqa: A002 - its name
        if not flags & socket.AI_NUMERICHOST:
            is_over.wait()
        return known(host, port, type=type, flags=flags)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield
    is_over.set()


def test_names_and_addresses() -> None:
    assert "127.0.0.1" in ip_addresses(Address("localhost", 9092), soon())
    for host in ("127.0.0.1", "::1"):
        assert ip_addresses(Address(host, 9092), soon()) == [host]
    (*_, sockaddr), *_ = candidates_of(Address("127.0.0.1", 9092), soon())
    assert sockaddr == ("127.0.0.1", 9092)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (Address("no-such-host.invalid", 9092), "the host name cannot be resolved"),
        (Address("x" * 64, 9092), "the host name cannot be resolved"),  # no label is so long
        (Address("localhost", 0), "the port must be from 1 to 65535"),
        # What is before the NUL resolves, and would be another host than that of the address.
        (Address("127.0.0.1\0.example.com", 9092), "has a NUL in it"),
    ],
)
def test_what_cannot_be_looked_up(address: Address, reason: str) -> None:
    with pytest.raises(BrokerConnectionError, match=reason):
        candidates_of(address, soon())


@pytest.mark.usefixtures("silent_resolver")
def test_fault_01_a_resolver_that_does_not_respond() -> None:
    with pytest.raises(
        BrokerConnectionError, match=r"^broker:9092: the host name was not resolved within \d+ ms"
    ):
        connect(Address("broker", 9092), SecurityOptions(), Deadline.after(50))
    assert ip_addresses(Address("127.0.0.1", 9092), soon()) == ["127.0.0.1"]
