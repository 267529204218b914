"""Draws requests that arrive after their clients went on: of exactly-once writes.

Applied to a scenario that is drawn; with a random number generator of its own, so that the rest of
a seed stays what it was.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from tests.simulation.scenario import EXECUTORS, Fault, Scenario
from tests.simulation.spark import DRIVER_HOST

_SHARE: Final = 0.4
_LATE_MS: Final = (30, 300, 1_500, 5_000)
# Whose requests, and which.
_LATE: Final = (
    (DRIVER_HOST, "END_TXN"),
    (DRIVER_HOST, "ADD_PARTITIONS_TO_TXN"),
    (DRIVER_HOST, "INIT_PRODUCER_ID"),
    (EXECUTORS[0], "PRODUCE"),
    (EXECUTORS[0], "ADD_PARTITIONS_TO_TXN"),
    (EXECUTORS[1], "INIT_PRODUCER_ID"),
    (EXECUTORS[1], "END_TXN"),
)
# Tasks give up before their batches arrive.
_SHORT: Final = {"kafka.request.timeout.ms": "1000", "kafka.delivery.timeout.ms": "2000"}


def with_late_requests(rng: random.Random, scenario: Scenario) -> Scenario:
    """The scenario with some of these."""
    if scenario.sink != "exactly once" or rng.random() >= _SHARE:
        return scenario
    scenario = rng.choice(_FORMS)(rng, scenario)
    faults = sorted(scenario.faults, key=lambda each: each.at_ms)
    return replace(scenario, faults=tuple(faults))


def _with_any(rng: random.Random, scenario: Scenario) -> Scenario:
    """Requests of all kinds, beside all other faults."""
    return replace(scenario, faults=(*scenario.faults, *_any(rng, scenario)))


def _any(rng: random.Random, scenario: Scenario) -> Iterator[Fault]:
    nodes = [*range(1, scenario.nodes + 1)]
    for _ in range(9):
        host, api = rng.choice(_LATE)
        arguments = {
            "api": api,
            "hosts": [host],
            "nodes": rng.choice((nodes, [rng.choice(nodes)])),
            "late_ms": round(rng.choice(_LATE_MS) * rng.uniform(0.5, 1.5), 1),
            "is_partition": rng.random() < 0.5,
            "skips": rng.choice((0, 0, 1)),
        }
        yield Fault(round(rng.uniform(300, 12_000), 1), "late request", 2_000.0, arguments)


def _with_ends(rng: random.Random, scenario: Scenario) -> Scenario:
    """Ends of transactions that arrive while the next ones are open, and little else.

    The driver then dies before it decides: what is committed by then is written again.
    """
    nodes = [*range(1, scenario.nodes + 1)]
    links = {"hosts": [*EXECUTORS], "nodes": nodes}
    faults = [Fault(1.0, "slow network", 15_000.0, links)]
    for number in range(3):
        at_ms = round(rng.uniform(500, 2_500) + 4_000 * number, 1)
        late_ms = round(rng.uniform(600, 2_500), 1)
        # The driver decides before it ends the transactions of tasks.
        arguments = {"skips": 1, "late_ms": late_ms, "is_partition": False, "api": "END_TXN"}
        arguments |= {"hosts": [DRIVER_HOST], "nodes": nodes}
        dies = {"call": "commit", "calls": rng.randint(1, 20)}
        faults += [
            Fault(at_ms, "late request", 3_000.0, arguments),
            Fault(round(at_ms + late_ms, 1), "crash driver within", 0.0, dies),
        ]
    return replace(scenario, faults=tuple(faults), slots=2, speculation_ms=None)


def _with_batches(rng: random.Random, scenario: Scenario) -> Scenario:
    """Batches that arrive after their tasks have failed."""
    faults = [
        Fault(
            round(rng.uniform(300, 9_000), 1),
            "late request",
            2_000.0,
            {
                "api": "PRODUCE",
                "hosts": [*EXECUTORS],
                "nodes": [rng.randint(1, scenario.nodes)],
                "late_ms": round(rng.uniform(2_500, 6_000), 1),
                "is_partition": True,
                "skips": 0,
            },
        )
        for _ in range(3)
    ]
    return replace(scenario, faults=(*scenario.faults, *faults), write=scenario.write | _SHORT)


_FORMS: Final[tuple[Callable[[random.Random, Scenario], Scenario], ...]] = (
    _with_any,
    _with_ends,
    _with_batches,
)
