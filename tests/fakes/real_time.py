"""Simulated brokers in the time of the process: their calls run in the threads that wait."""

from __future__ import annotations

import heapq
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kafka_protocol.client import clock
from tests.fakes.skipping_time import SkippingTime

_seeds = itertools.count(1)


class RealTime:
    """A heap of calls, and the lock of the brokers.

    Whoever has changed something, or waits, runs the calls that are due.
    The client's sleeps may take no time (`skipping_time`): then the waits here take none either.

    Attributes:
        random: The source of chance of the brokers; topic ids differ from cluster to cluster.
    """

    def __init__(self) -> None:
        self.random = random.Random(next(_seeds))
        self._skipped_ms = 0.0
        self._calls: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition(threading.RLock())

    @property
    def now_ms(self) -> float:
        """The wall-clock time with what the client has skipped, which never goes back."""
        system_ms = time.time() * 1000
        self._skipped_ms = max(self._skipped_ms, clock.now_ms() - system_ms)
        return system_ms + self._skipped_ms

    def call_after(self, ms: float, call: Callable[[], None]) -> None:
        at_ms = self.now_ms + ms if ms > 0 else 0
        heapq.heappush(self._calls, (at_ms, next(self._numbers), call))

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change the brokers within the block; at its end all of them have heard of it."""
        with self._changed:
            self._run_due()
            yield
            self._run_due()
            self._changed.notify_all()

    def wait_until(self, is_done: Callable[[], object]) -> None:
        """Wait for a change that another thread or the time brings."""
        with self._changed:
            while not is_done():
                self._wait()
                if self._run_due():
                    self._changed.notify_all()

    def _run_due(self) -> bool:
        """Run what is due, and what that makes due; whether there was anything."""
        has_run = False
        while self._calls and self._calls[0][0] <= self.now_ms:
            _, _, call = heapq.heappop(self._calls)
            call()
            has_run = True
        return has_run

    def _wait(self) -> None:
        seconds = max(0, self._calls[0][0] - self.now_ms) / 1000 if self._calls else None
        if seconds and isinstance(clock._source, SkippingTime):
            clock._source(seconds)
        else:
            self._changed.wait(seconds)
