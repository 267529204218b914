"""Deadlines that a test ends by what happened, so that no busy machine can end them too early."""

from __future__ import annotations

import time
from collections.abc import Callable

from kafka_protocol.client.clock import Deadline


class PassesWhen(Deadline):
    """A deadline that passes as soon as `happened` returns True, or after a minute."""

    __slots__ = ("_happened",)

    def __init__(self, happened: Callable[[], bool]) -> None:
        super().__init__(time.monotonic() + 60)
        self._happened = happened

    @property
    def remaining_ms(self) -> float:
        return 0.0 if self._happened() else super().remaining_ms

    @property
    def has_passed(self) -> bool:
        return self._happened() or super().has_passed
