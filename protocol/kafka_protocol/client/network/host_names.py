"""Looks up host names, with a deadline. It opens no connection."""

from __future__ import annotations

import socket
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.errors import BrokerConnectionError

Candidate: TypeAlias = tuple[Any, Any, int, str, Any]
"""As from `socket.getaddrinfo`: family, type, protocol, canonical name, socket address."""


def candidates_of(address: Address, deadline: Deadline) -> list[Candidate]:
    """The IP addresses of a listener's host name, in the order of the system's resolver.

    Raises:
        BrokerConnectionError: There is no such name, or the resolver did not respond in time.
    """
    if not 0 < address.port < 65536:
        raise BrokerConnectionError(f"{address}: the port must be from 1 to 65535")
    if "\0" in address.host:
        # The resolver would take the text before it for the name.
        raise BrokerConnectionError(f"{address.host!r}: the host name has a NUL in it")
    try:
        return _look_up(address, socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return _candidates_of_name(address, deadline)


def ip_addresses(address: Address, deadline: Deadline) -> list[str]:
    """The IP addresses of a listener's host name, in the order in which they are tried.

    Raises:
        BrokerConnectionError: There is no such name, or the resolver did not respond in time.
    """
    candidates = candidates_of(address, deadline)
    return [*dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in candidates)]


def _candidates_of_name(address: Address, deadline: Deadline) -> list[Candidate]:
    """The IP addresses of a host name, looked up in a thread.

    The system's resolver has no deadline, and Ctrl-C does not end it.
    """
    results: SimpleQueue[list[Candidate] | Exception] = SimpleQueue()

    def look_up() -> None:
        try:
            results.put(_look_up(address))
        except (OSError, UnicodeError) as error:
            results.put(error)

    Thread(target=look_up, name=f"look up {address.host}", daemon=True).start()
    waited_ms = max(1, deadline.remaining_ms)
    try:
        result = results.get(timeout=waited_ms / 1000)
    except Empty:
        raise BrokerConnectionError(
            f"{address}: the host name was not resolved within {waited_ms:.0f} ms; "
            "is a DNS server of this machine down?"
        ) from None
    if isinstance(result, Exception):
        raise BrokerConnectionError(
            f"{address}: the host name cannot be resolved ({result})"
        ) from result
    return result


def _look_up(address: Address, flags: int = 0) -> list[Candidate]:
    return socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=flags)
