"""A schema registry in the simulated network: one subject, whose second version comes later.

It has one schema more from the moment on when the first record of it is to be sent. An id and a
version never change their meaning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.fakes.registry import Received, subjects
from tests.simulation.contents import AVRO_SCHEMAS, SUBJECT
from tests.simulation.network import Brokers, Session

NODE: Final = 99
ADDRESS: Final = ("registry", 8081)


class WithRegistry:
    """The brokers of a run, and a registry beside them.

    Args:
        brokers: Who listens at all other nodes.
        versions: How many versions there are now.
    """

    def __init__(self, brokers: Brokers, versions: Callable[[], int]) -> None:
        self._brokers = brokers
        self._versions = versions

    def connect(
        self, node: int, reply: Callable[[bytes], None], close: Callable[[], None]
    ) -> Session | None:
        """A new connection."""
        if node != NODE:
            return self._brokers.connect(node, reply, close)
        return _Conversation(self._respond, reply, close)

    def _respond(self, path: str) -> tuple[int, Any]:
        known = [
            {"id": number, "schema": schema}
            for number, schema in enumerate(AVRO_SCHEMAS[: self._versions()], 1)
        ]
        of_subject: Mapping[str, list[dict[str, Any]]] = {SUBJECT.replace("-", "__"): known}
        found = subjects(**of_subject)(Received("GET", path, {}, None))
        return found.status, found.values


class _Conversation:
    """One request and its response."""

    def __init__(
        self,
        respond: Callable[[str], tuple[int, Any]],
        reply: Callable[[bytes], None],
        close: Callable[[], None],
    ) -> None:
        self._respond = respond
        self._reply = reply
        self._close = close
        self._received = b""

    def receive(self, data: bytes) -> None:
        """Bytes arrived."""
        self._received += data
        if b"\r\n\r\n" not in self._received:
            return
        path = self._received.split(b" ", 2)[1].decode()
        status, values = self._respond(path)
        body = json.dumps(values).encode()
        head = f"HTTP/1.1 {status} -\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        self._reply(head.encode() + body)
        self._close()

    def closed_by_client(self) -> None:
        """The end of the stream arrived."""
