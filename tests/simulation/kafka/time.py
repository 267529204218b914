"""What simulated brokers need of the world around them: virtual time and one source of chance."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol


class Scheduler(Protocol):
    """Virtual time. Calls with the same moment run in the order of their creation."""

    @property
    def now_ms(self) -> float:
        """The virtual wall clock, in ms since 1970."""

    @property
    def random(self) -> random.Random:
        """The only source of chance of the brokers."""

    def call_after(self, ms: float, call: Callable[[], None]) -> None:
        """Call once, `ms` from now on."""
