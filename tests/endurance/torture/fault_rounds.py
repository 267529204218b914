"""Rounds of faults, drawn by chance and played on a stage; a log of what came."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from tests.endurance.torture.faults import Fault, Place, Stage, possible

OVERLAPPING = 0.4
"""The share of rounds with two faults, where faults may overlap."""

_HOLD_SECONDS = (1.0, 8.0)
_CALM_SECONDS = (0.0, 4.0)
_NOT_ENDED = float("inf")


class Round(NamedTuple):
    """Faults that overlap, and how long.

    Attributes:
        number: From 1 on.
        faults: In the order in which they begin; they end in the reverse order.
        calm_seconds: Before the first one.
        hold_seconds: From the begin of the last one to the first end.
        seed: Of the choices that the faults make, such as their victims.
    """

    number: int
    faults: tuple[Fault, ...]
    calm_seconds: float
    hold_seconds: float
    seed: int

    @property
    def name(self) -> str:
        """The names of the faults."""
        return " + ".join(fault.name for fault in self.faults)

    @property
    def starts_anew(self) -> bool:
        """Whether the queries begin in new processes at its end."""
        return any(fault.starts_anew for fault in self.faults)

    @property
    def may_fail_queries(self) -> bool:
        """Whether Spark itself lost a process."""
        return any(fault.place is Place.SPARK for fault in self.faults)


def rounds(chance: random.Random, faults: Sequence[Fault], overlapping: float) -> Iterator[Round]:
    """Rounds without an end. Each fault comes as often as the others.

    Args:
        chance: Draws everything.
        faults: Those that are possible.
        overlapping: The share of rounds with a second fault, at another place.
    """
    deck: list[Fault] = []
    number = 0
    while True:
        number += 1
        if not deck:
            deck = chance.sample(faults, len(faults))
        drawn = [deck.pop()]
        others = [fault for fault in deck if fault.place is not drawn[0].place]
        if others and chance.random() < overlapping:
            deck.remove(others[-1])
            drawn.append(others[-1])
        calm_seconds, hold_seconds = (
            chance.uniform(*bounds) for bounds in (_CALM_SECONDS, _HOLD_SECONDS)
        )
        yield Round(number, tuple(drawn), calm_seconds, hold_seconds, chance.getrandbits(32))


class FaultEvent(NamedTuple):
    """A fault that came and went; times in seconds of `time.monotonic()`.

    Attributes:
        ended: When it was repaired, and the next one may come.
    """

    name: str
    began: float
    ended: float = _NOT_ENDED


class FaultLog:
    """The faults so far.

    Args:
        file: Gets a line for each, with the time of day.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._events: list[FaultEvent] = []

    @property
    def events(self) -> list[FaultEvent]:
        """All that have ended, in order."""
        return [each for each in self._events if each.began < each.ended < _NOT_ENDED]

    def during(self, began: float, ended: float) -> list[str]:
        """The names of the faults that overlap with these seconds of `time.monotonic()`.

        Also one that has not ended yet.
        """
        return [e.name for e in self._events if e.began <= ended and began <= e.ended]

    @contextmanager
    def event(self, name: str) -> Iterator[list[str]]:
        """Notes a fault for as long as the block lasts, if the list gets its victim."""
        place = len(self._events)
        event = FaultEvent(name, time.monotonic())
        self._events.append(event)
        victims: list[str] = []
        try:
            yield victims
        finally:
            ended = time.monotonic() if any(victims) else event.began
            self._events[place] = event._replace(ended=ended)
            self.write(f"{name} ({', '.join(victims)}) repaired after {ended - event.began:.1f} s")

    def write(self, text: str) -> None:
        """Adds a line."""
        with self._file.open("a") as file:
            file.write(f"{datetime.now(timezone.utc):%H:%M:%S.%f} {text}\n")


def play(stage: Stage, each: Round, log: FaultLog) -> None:
    """Causes the faults of a round, and returns when all is repaired and settled."""
    chance = random.Random(each.seed)
    with ExitStack() as events:
        with ExitStack() as faults:
            for fault in each.faults:
                victims = events.enter_context(log.event(fault.name))
                victims.append(faults.enter_context(fault.cause(stage, chance)))
                log.write(f"{fault.name} ({victims[0]})")
            stage.hold(each.hold_seconds)
        stage.settle()


@contextmanager
def faults_come_and_go(stage: Stage, chance: random.Random, log: FaultLog) -> Iterator[FaultLog]:
    """Faults in a thread, one at a time, as long as the block lasts; then all is repaired.

    Raises:
        Exception: What ended the thread.
    """
    leave = threading.Event()
    hurried = replace(stage, hold=leave.wait)

    def run() -> None:
        for each in rounds(chance, possible(stage), overlapping=0.0):
            if leave.wait(each.calm_seconds):
                return
            play(hurried, each, log)

    with ThreadPoolExecutor(1) as pool:
        thread = pool.submit(run)
        try:
            yield log
        finally:
            leave.set()
    thread.result()
