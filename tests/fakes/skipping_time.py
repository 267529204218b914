"""A clock whose sleeps take no time, for tests of what happens when retries end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest


class _SkippingTime:
    """Python's `time` as the client uses it: a sleep moves the clock instead of waiting."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._skipped

    def sleep(self, seconds: float) -> None:
        self._skipped += seconds

    def process_time_ns(self) -> int:
        return time.process_time_ns()

    def time_ns(self) -> int:
        return time.time_ns() + int(self._skipped * 1e9)


@contextmanager
def sleeps_take_no_time() -> Iterator[Callable[[float], None]]:
    """Let back-offs pass at once, so that long deadlines end soon on any machine.

    Yields:
        A function that lets a number of seconds pass.
    """
    skipping = _SkippingTime()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kafka_protocol.client.clock.time", skipping)
        yield skipping.sleep
