"""`python -m tests.simulation.planted`: hunts for the planted faults, and tells which are found."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.simulation.planted.fault import Planted
from tests.simulation.planted.hunt import SEEDS, Found, hunt
from tests.simulation.planted.hunt_tests import FoundByTest, hunt_by_tests
from tests.simulation.planted.results import RESULTS, WING_RESULTS, kept, read, write, write_page
from tests.simulation.planted.table import FAULTS
from tests.simulation.planted.wings import WINGS

# A fault that no seed has found in hours is looked for in the first ones only.
_MISSED_SECONDS: Final = 60


def main() -> int:
    """Hunt for each fault; the exit code is 1 if one is not found that can be."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.planted")
    parser.add_argument("--only", default="", help="a part of the names of faults")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="for each at most")
    parser.add_argument("--seconds", type=float, default=600, help="for each at most")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS, help="a file to add results to")
    parser.add_argument("--page", action="store_true", help="write docs/reliability.md, too")
    parser.add_argument("--wings", action="store_true", help="only those that tests hunt for")
    parser.add_argument("--rest", action="store_true", help="only those that it does not have")
    arguments = parser.parse_args()
    known: set[str] = set()
    if arguments.rest:
        known = {*read(arguments.results), *read(WING_RESULTS)}
    faults = [
        each
        for each in (*(() if arguments.wings else FAULTS), *WINGS)
        if arguments.only in each.name and each.name not in known
    ]
    table = Table("planted fault", "seed", "seconds", "found by", "what it said")
    missed = 0
    with ThreadPoolExecutor(arguments.jobs) as threads:
        before = {name: each.get("seed") for name, each in read(arguments.results).items()}
        run = partial(_hunted, arguments.seconds, arguments.seeds, before)
        for fault, found in zip(faults, threads.map(run, faults), strict=True):
            seed, judge = (
                ("", found.test) if isinstance(found, FoundByTest) else (found.seed, found.judge)
            )
            missed += (seed is None or judge is None) and not fault.missed
            row = (fault.name, seed, f"{found.seconds:.0f}", judge, found.text[:150])
            shown = ["-" if each is None else str(each) for each in row]
            print(" | ".join(shown), flush=True)
            table.add_row(*shown)
            file = WING_RESULTS if fault.judges else arguments.results
            write(file, read(file) | {fault.name: kept(found)})
    Console(soft_wrap=True).print(table)
    if arguments.page:
        write_page(read(arguments.results), read(WING_RESULTS))
    return 1 if missed else 0


def _hunted(
    seconds: float, seeds: int, before: Mapping[str, int | None], fault: Planted
) -> Found | FoundByTest:
    if fault.judges:
        return hunt_by_tests(fault, seconds)
    limit = min(seconds, _MISSED_SECONDS) if fault.missed else seconds
    return hunt(fault, limit, seeds, before.get(fault.name))


if __name__ == "__main__":
    sys.exit(main())
