"""Waiting for a condition, with a deadline. The only place of this package that sleeps."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_INTERVAL_SECONDS = 0.05


class Deadline:
    """A moment that many waits can share.

    Args:
        seconds: How far away it is.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def has_passed(self) -> bool:
        """Whether it is too late."""
        return time.monotonic() >= self._end

    def wait_for(self, condition: Callable[[], bool]) -> bool:
        """Asks until the condition holds or the deadline has passed; says whether it holds."""
        while not condition():
            if self.has_passed:
                return False
            time.sleep(_INTERVAL_SECONDS)
        return True
