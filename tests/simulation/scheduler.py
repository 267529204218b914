"""Virtual time: events in the order of their moments. Knows neither processes nor the network."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from typing import Final, Protocol

# The moment at which each run begins, in ms since 1970.
START_MS: Final = 1_700_000_000_000.0


class Scheduler(Protocol):
    """What simulated brokers need.

    Attributes:
        now_ms: The wall-clock time in ms since 1970.
        random: The random numbers of the brokers; nothing else draws from it.
    """

    now_ms: float
    random: random.Random

    def call_after(self, ms: float, call: Callable[[], None]) -> None:
        """Call once, later. Calls of the same moment run in the order of their creation."""


class EndlessRunError(Exception):
    """A run has had more events than any run needs: something repeats without a pause."""


class EventScheduler:
    """Runs events one after the other; between two of them no time passes but the virtual one."""

    def __init__(self, seed: int, max_events: int = 2_000_000) -> None:
        self.now_ms = START_MS
        self.random = random.Random(f"{seed} brokers")
        self.events = 0
        self._max_events = max_events
        self._created = 0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []

    @property
    def elapsed_ms(self) -> float:
        """The virtual time since the run began."""
        return self.now_ms - START_MS

    def call_after(self, ms: float, call: Callable[[], None]) -> None:
        """Call once, later."""
        self._created += 1
        heapq.heappush(self._heap, (self.now_ms + max(0.0, ms), self._created, call))

    def run(self, is_done: Callable[[], bool], until_ms: float) -> bool:
        """Run events until `is_done`, which is asked after each of them.

        Args:
            is_done: Whether to stop.
            until_ms: When to stop in any case, in ms since the run began.

        Returns:
            Whether it was `is_done` that ended it.

        Raises:
            EndlessRunError: There were too many events.
        """
        while not is_done():
            if not self._heap or self._heap[0][0] - START_MS > until_ms:
                return False
            self.now_ms, _, call = heapq.heappop(self._heap)
            self.events += 1
            if self.events > self._max_events:
                raise EndlessRunError(f"{self.events} events within {self.elapsed_ms:.0f} ms")
            call()
        return True
