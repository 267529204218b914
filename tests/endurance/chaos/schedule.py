"""Which faults come, from a seed. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from tests.endurance.chaos.faults import FAULTS, Fault, Place

_SECOND_FAULT = 0.4
_HOLD_SECONDS = (1.0, 8.0)
_CALM_SECONDS = (0.0, 2.0)


class Round(NamedTuple):
    """Faults that overlap, and how long.

    Attributes:
        number: From 1 on.
        faults: In the order in which they begin; they end in the reverse order.
        hold_seconds: From the begin of the last one to the first end.
        calm_seconds: After the copies have caught up.
        seed: Of the choices that the faults make, such as their victims.
    """

    number: int
    faults: tuple[Fault, ...]
    hold_seconds: float
    calm_seconds: float
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


def rounds(seed: int) -> Iterator[Round]:
    """Rounds without an end. Each fault comes as often as the others."""
    chance = random.Random(seed)
    deck: list[Fault] = []
    number = 0
    while True:
        number += 1
        if not deck:
            deck = chance.sample(FAULTS, len(FAULTS))
        faults = [deck.pop()]
        others = [fault for fault in deck if fault.place is not faults[0].place]
        if others and chance.random() < _SECOND_FAULT:
            deck.remove(others[-1])
            faults.append(others[-1])
        hold_seconds, calm_seconds = (
            chance.uniform(*bounds) for bounds in (_HOLD_SECONDS, _CALM_SECONDS)
        )
        yield Round(number, tuple(faults), hold_seconds, calm_seconds, chance.getrandbits(32))
