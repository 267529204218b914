"""A clock whose sleeps take no time, for tests of what happens when time has passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kafka_protocol.client import clock


class SkippingTime:
    """The system's time and random numbers, but a sleep moves the clock instead of waiting.

    Call it to let a number of seconds pass.

    Args:
        meanwhile: Called during each sleep, with its ms.

    Attributes:
        pauses_ms: What was slept.
    """

    def __init__(self, meanwhile: Callable[[float], object] = lambda _ms: None) -> None:
        self._meanwhile = meanwhile
        self._system = clock.SystemSource()
        self._skipped = 0.0
        self._used_cpu_ns = 0
        self.pauses_ms: list[float] = []
        self.uniform = self._system.uniform
        self.shuffle = self._system.shuffle
        self.getrandbits = self._system.getrandbits

    def __call__(self, seconds: float) -> None:
        self._skipped += seconds

    def use_cpu(self, ms: float) -> None:
        """Let the process have used CPU time; it uses none otherwise."""
        self._used_cpu_ns += round(ms * 1e6)

    def monotonic(self) -> float:
        return self._system.monotonic() + self._skipped

    def sleep(self, seconds: float, /) -> None:
        self.pauses_ms.append(seconds * 1000)
        self._skipped += seconds
        self._meanwhile(seconds * 1000)

    def time_ns(self) -> int:
        return self._system.time_ns() + int(self._skipped * 1e9)

    def process_time_ns(self) -> int:
        return self._used_cpu_ns


@contextmanager
def sleeps_take_no_time(
    meanwhile: Callable[[float], object] = lambda _ms: None,
) -> Iterator[SkippingTime]:
    """Let back-offs pass at once, so that long deadlines end soon on any machine."""
    skipping = SkippingTime(meanwhile)
    with clock.use(skipping):
        yield skipping
