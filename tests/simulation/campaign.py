"""Many seeds: each is drawn, run and judged; in several operating system processes if wanted."""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from typing import NamedTuple

from tests.simulation.drawing import draw
from tests.simulation.judge import CRASHES, broken_promise, judged
from tests.simulation.outcome import Violation
from tests.simulation.run import run
from tests.simulation.scenario import Scenario


class Result(NamedTuple):
    """One seed.

    Attributes:
        faults: How many of each kind there were.
        problems: What the judge found.
        broken: The first promise that was broken; None if none was, or the run only crashed.
        virtual_ms: How much virtual time passed.
    """

    seed: int
    faults: Counter[str]
    problems: list[str]
    records: int
    virtual_ms: float
    events: int
    sink: str
    broken: Violation | None = None


@dataclass
class Totals:
    """What a campaign did."""

    seeds: int = 0
    records: int = 0
    events: int = 0
    virtual_ms: float = 0.0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    sinks: Counter[str] = field(default_factory=Counter)
    failures: list[Result] = field(default_factory=list)

    def add(self, result: Result) -> None:
        """Count a seed."""
        self.seeds += 1
        self.records += result.records
        self.events += result.events
        self.virtual_ms += result.virtual_ms
        self.faults += result.faults
        self.sinks[result.sink] += 1
        if result.problems:
            self.failures.append(result)


def problems_of(scenario: Scenario) -> list[str]:
    """Run a scenario and judge it; an exception of the run is a problem, too."""
    return [each.text for each in _judged(scenario)[0]]


def result_of(seed: int) -> Result:
    """Draw, run and judge a seed."""
    scenario = draw(seed)
    found, virtual_ms, events = _judged(scenario)
    return Result(
        seed,
        Counter(each.kind for each in scenario.faults),
        [each.text for each in found],
        scenario.records,
        virtual_ms,
        events,
        scenario.sink,
        broken_promise(found),
    )


def campaign(
    first_seed: int,
    *,
    seeds: int | None = None,
    seconds: float | None = None,
    jobs: int = 1,
    shown: Callable[[Totals], None] = lambda totals: None,
) -> Totals:
    """Run seeds one after the other, from `first_seed` on; stops at the first that fails.

    Args:
        first_seed: Where to begin.
        seeds: How many; None for as many as fit in `seconds`.
        seconds: For how long.
        jobs: The number of processes.
        shown: Called after each seed.
    """
    totals, started = Totals(), time.monotonic()
    numbers = islice(count(first_seed), seeds)
    for result in _results(numbers, jobs):
        totals.add(result)
        totals.seconds = time.monotonic() - started
        shown(totals)
        if totals.failures or (seconds is not None and totals.seconds >= seconds):
            break
    return totals


def _results(seeds: Iterable[int], jobs: int) -> Iterator[Result]:
    if jobs == 1:
        yield from map(result_of, seeds)
        return
    # A process that was forked would have greenlets of this one.
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(result_of, _unhurried(seeds), chunksize=1)


def _unhurried(seeds: Iterable[int]) -> Iterator[int]:
    yield from seeds


def _judged(scenario: Scenario) -> tuple[list[Violation], float, int]:
    try:
        outcome, _ = run(scenario)
    except Exception:  # noqa: BLE001  the seed must be reported
        return [Violation(CRASHES, f"the run failed: {traceback.format_exc()}")], 0.0, 0
    return judged(outcome), outcome.level_ms, outcome.events
