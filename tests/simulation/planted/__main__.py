"""`python -m tests.simulation.planted`: hunts for the planted faults, and tells which are found."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.simulation.planted.hunt import SEEDS, hunt
from tests.simulation.planted.results import RESULTS, kept, read, write, write_page
from tests.simulation.planted.table import FAULTS


def main() -> int:
    """Hunt for each fault; the exit code is 1 if one is not found that the simulation can find."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.planted")
    parser.add_argument("--only", default="", help="a part of the names of faults")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="for each at most")
    parser.add_argument("--seconds", type=float, default=600, help="for each at most")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS, help="a file to add results to")
    parser.add_argument("--page", action="store_true", help="write docs/reliability.md, too")
    parser.add_argument("--rest", action="store_true", help="only those that it does not have")
    arguments = parser.parse_args()
    known = read(arguments.results) if arguments.rest else {}
    faults = [each for each in FAULTS if arguments.only in each.name and each.name not in known]
    table = Table("planted fault", "seed", "seconds", "judge", "what it said")
    missed = 0
    with ThreadPoolExecutor(arguments.jobs) as threads:
        run = partial(hunt, seconds=arguments.seconds, seeds=arguments.seeds)
        for fault, found in zip(faults, threads.map(run, faults), strict=True):
            missed += found.seed is None and not fault.missed
            seed = "-" if found.seed is None else str(found.seed)
            row = (fault.name, seed, f"{found.seconds:.0f}", found.judge, found.text[:150])
            print(" | ".join(row), flush=True)
            table.add_row(*row)
            write(arguments.results, read(arguments.results) | {fault.name: kept(found)})
    Console(soft_wrap=True).print(table)
    if arguments.page:
        write_page(read(arguments.results))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
