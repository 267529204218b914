"""What happened in a run, event by event. Two runs of one seed have the same digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from tests.simulation.scheduler import EventScheduler


class Event(NamedTuple):
    """Something that happened.

    Attributes:
        at_ms: When, in ms since the run began.
        who: The process, broker or fault.
        what: The kind of event.
        detail: The rest, for people and for the digest.
    """

    at_ms: float
    who: str
    what: str
    detail: tuple[object, ...]


class Trace:
    """The events of one run, in order."""

    def __init__(self, scheduler: EventScheduler) -> None:
        self._scheduler = scheduler
        self.events: list[Event] = []

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def note(self, who: str, what: str, *detail: object) -> None:
        """Add an event that happens now. `detail` must look the same in each run of a seed."""
        self.events.append(Event(self._scheduler.elapsed_ms, who, what, detail))

    def digest(self) -> str:
        """A hash of all events."""
        return hashlib.sha256(repr(self.events).encode()).hexdigest()
