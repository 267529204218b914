"""Faults of brokers and of Spark's workers, one at a time, while queries run."""

from __future__ import annotations

from typing import NamedTuple


class FaultEvent(NamedTuple):
    """A fault that came and went; times in seconds of `time.monotonic()`.

    Attributes:
        name: `broker killed`, `broker stopped`, `broker paused`, `rolling restart` or
            `worker killed`.
        victim: The node ids, or the process id of the worker.
        ended: When it was repaired, and all replicas were in sync again.
    """

    name: str
    victim: str
    began: float
    ended: float


class FaultLog:
    """The faults so far."""

    def __init__(self) -> None:
        self._events: list[FaultEvent] = []

    @property
    def events(self) -> list[FaultEvent]:
        """All that have ended, in order."""
        return list(self._events)

    def during(self, began: float, ended: float) -> list[str]:
        """The names of the faults that overlap with these seconds of `time.monotonic()`.

        Also one that has not ended yet.
        """
        raise NotImplementedError
