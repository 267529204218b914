"""Locks by topic: a table has one writer at a time in a run of a query."""

from __future__ import annotations

from collections import defaultdict
from threading import Lock


class TopicLocks:
    """A lock for each topic. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._locks: defaultdict[str, Lock] = defaultdict(Lock)

    def of(self, topic: str) -> Lock:
        """The topic's lock."""
        with self._lock:
            return self._locks[topic]
