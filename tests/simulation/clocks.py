"""The clock and the random numbers of simulated processes."""

from __future__ import annotations

import random
from collections.abc import MutableSequence
from typing import Any

from tests.simulation.processes import Processes
from tests.simulation.scheduler import EventScheduler

# No code looks at the clock so often between two moments unless it waits without a pause.
_MOST_LOOKS = 200_000


class SpinningError(AssertionError):
    """Code waits for a moment without a pause, so the moment never comes."""


class SimulatedSource:
    """A `clock.Source` in virtual time."""

    def __init__(self, scheduler: EventScheduler, processes: Processes, seed: int) -> None:
        self._scheduler = scheduler
        self._processes = processes
        self._random = random.Random(f"{seed} client")
        self._looked_at_ms = 0.0
        self._looks = 0

    def time_ns(self) -> int:
        """The wall-clock time."""
        return int(self._now_ms() * 1_000_000)

    def monotonic(self) -> float:
        """The time since the run began."""
        self._now_ms()
        return self._scheduler.elapsed_ms / 1000

    def process_time_ns(self) -> int:
        """Nothing costs CPU."""
        return 0

    def sleep(self, seconds: float, /) -> None:
        """Let virtual time pass."""
        self._processes.sleep(seconds * 1000)

    def uniform(self, a: float, b: float) -> float:
        """A number between two others."""
        return self._random.uniform(a, b)

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Change the order of a sequence."""
        self._random.shuffle(x)

    def getrandbits(self, k: int, /) -> int:
        """A whole number of `k` bits."""
        return self._random.getrandbits(k)

    def _now_ms(self) -> float:
        now_ms = self._scheduler.now_ms
        if now_ms != self._looked_at_ms:
            self._looked_at_ms, self._looks = now_ms, 0
        self._looks += 1
        if self._looks > _MOST_LOOKS:
            raise SpinningError(f"the clock was read {self._looks} times at one moment")
        return now_ms
