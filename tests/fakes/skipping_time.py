"""A clock whose sleeps take no time, for tests of what happens when retries end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kafka_protocol.client import clock


class _SkippingTime:
    """The system's time and random numbers, but a sleep moves the clock instead of waiting."""

    def __init__(self) -> None:
        self._system = clock.SystemSource()
        self._skipped = 0.0
        self.process_time_ns = self._system.process_time_ns
        self.uniform = self._system.uniform
        self.shuffle = self._system.shuffle
        self.getrandbits = self._system.getrandbits

    def monotonic(self) -> float:
        return self._system.monotonic() + self._skipped

    def sleep(self, seconds: float, /) -> None:
        self._skipped += seconds

    def time_ns(self) -> int:
        return self._system.time_ns() + int(self._skipped * 1e9)


@contextmanager
def sleeps_take_no_time() -> Iterator[Callable[[float], None]]:
    """Let back-offs pass at once, so that long deadlines end soon on any machine.

    Yields:
        A function that lets a number of seconds pass.
    """
    skipping = _SkippingTime()
    with clock.use(skipping):
        yield skipping.sleep
