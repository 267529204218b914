"""Draws requests that arrive after their clients went on: of exactly-once writes.

Applied to a scenario that is drawn; with a random number generator of its own, so that the rest of
a seed stays what it was.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tests.simulation.scenario import EXECUTORS, Fault, Scenario
from tests.simulation.spark import DRIVER_HOST

_SHARE: Final = 0.4
_LATE_MS: Final = (30, 300, 1_500, 5_000)
# Whose requests, and which.
_LATE: Final = (
    (DRIVER_HOST, "END_TXN"),
    (DRIVER_HOST, "END_TXN"),
    (DRIVER_HOST, "ADD_PARTITIONS_TO_TXN"),
    (DRIVER_HOST, "INIT_PRODUCER_ID"),
    (EXECUTORS[0], "PRODUCE"),
    (EXECUTORS[1], "PRODUCE"),
    (EXECUTORS[0], "ADD_PARTITIONS_TO_TXN"),
    (EXECUTORS[1], "INIT_PRODUCER_ID"),
    (EXECUTORS[1], "END_TXN"),
)
# Tasks give up before late requests arrive.
_SHORT: Final = {"kafka.request.timeout.ms": "1000", "kafka.delivery.timeout.ms": "2000"}


def with_late_requests(rng: random.Random, scenario: Scenario) -> Scenario:
    """The scenario with some of these."""
    if scenario.sink != "exactly once" or rng.random() >= _SHARE:
        return scenario
    faults = sorted((*scenario.faults, *_late(rng, scenario)), key=lambda each: each.at_ms)
    write = scenario.write | _SHORT if rng.random() < 0.5 else scenario.write
    return replace(scenario, faults=tuple(faults), write=write)


def _late(rng: random.Random, scenario: Scenario) -> Iterator[Fault]:
    nodes = [*range(1, scenario.nodes + 1)]
    for _ in range(rng.choice((3, 6, 9))):
        host, api = rng.choice(_LATE)
        arguments = {
            "api": api,
            "hosts": [host],
            "nodes": rng.choice((nodes, [rng.choice(nodes)])),
            "late_ms": round(rng.choice(_LATE_MS) * rng.uniform(0.5, 1.5), 1),
            "is_partition": rng.random() < 0.5,
        }
        at_ms = round(rng.uniform(300, 12_000), 1)
        yield Fault(at_ms, "late request", 2_000.0, arguments)
        if rng.random() < 0.4:
            # What was late is there when the next driver, or a task of it, writes again.
            dies = {"call": "commit", "calls": rng.randint(1, 60)}
            yield Fault(round(at_ms + rng.uniform(50, 2_000), 1), "crash driver within", 0.0, dies)
