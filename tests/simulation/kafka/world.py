"""Virtual time and a client for tests of simulated brokers alone."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from typing import Any, TypeVar

from kafka_protocol.versions.connection import Connection
from kafka_protocol.wire.schema import Request, Response
from tests.simulation.kafka.cluster import SimulatedCluster
from tests.simulation.kafka.session import BrokerSession

START_MS = 1_700_000_000_000.0
R = TypeVar("R", bound=Response)


class VirtualTime:
    """A heap of calls."""

    def __init__(self, seed: int = 1, start_ms: float = START_MS) -> None:
        self.now_ms = start_ms
        self.random = random.Random(seed)
        self._calls: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def call_after(self, ms: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._calls, (self.now_ms + max(0, ms), next(self._numbers), call))

    @property
    def has_calls(self) -> bool:
        return bool(self._calls)

    def run(self, ms: float) -> None:
        """Let time pass."""
        self.run_until(lambda: False, ms)

    def run_until(self, condition: Callable[[], bool], ms: float = 60_000) -> bool:
        """Let time pass until something is so; whether it came to be."""
        end_ms = self.now_ms + ms
        while not condition():
            if not self._calls or self._calls[0][0] > end_ms:
                self.now_ms = end_ms
                return False
            self.now_ms, _, call = heapq.heappop(self._calls)
            call()
        return True


class Client:
    """One connection to a simulated broker, with requests as bytes."""

    def __init__(self, cluster: SimulatedCluster, time: VirtualTime, node: int = 1) -> None:
        self.time = time
        self._protocol = Connection("tests")
        self.is_closed = False
        self.responses: list[Any] = []
        session = cluster.connect(node, self._received, self._was_closed)
        assert session is not None
        self.session: BrokerSession = session

    def _received(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        while (response := self._protocol.next_response()) is not None:
            self.responses.append(response)

    def _was_closed(self) -> None:
        self.is_closed = True

    def send(self, request: Request, version: int) -> None:
        self.session.receive(self.frame(request, version))

    def frame(self, request: Request, version: int) -> bytes:
        """The bytes of a request, to be sent in order."""
        return b"".join(self._protocol.send(request, version=version))

    def ask(
        self, request: Request, kind: type[R], version: int | None = None, ms: float = 60_000
    ) -> R:
        """Send a request in a version, by default its highest, and wait for the response."""
        count = len(self.responses)
        self.send(request, kind.versions.highest if version is None else version)
        is_answered = self.time.run_until(lambda: len(self.responses) > count or self.is_closed, ms)
        assert is_answered, f"no response to {request} after {ms} ms"
        assert not self.is_closed, f"closed on {request}"
        response = self.responses[count]
        assert isinstance(response, kind)
        return response
