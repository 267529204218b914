"""Waits for a condition with a deadline. The only module of this package that sleeps."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_INTERVAL_SECONDS = 0.05


class Deadline:
    """A deadline for one or more waits, so many seconds from now."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def has_passed(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self._end

    def wait_for(self, condition: Callable[[], bool]) -> bool:
        """Polls until the condition is true or the deadline has passed; whether it is true."""
        while not condition():
            if self.has_passed:
                return False
            time.sleep(_INTERVAL_SECONDS)
        return True
