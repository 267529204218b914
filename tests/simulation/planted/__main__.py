"""`python -m tests.simulation.planted`: a table of the planted faults, and when each was found."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from rich.console import Console
from rich.table import Table

from tests.simulation.planted.hunt import hunt
from tests.simulation.planted.table import FAULTS


def main() -> int:
    """Hunt for each fault; the exit code is 1 if one is not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.planted")
    parser.add_argument("--only", default="", help="a part of the names of faults")
    parser.add_argument("--seconds", type=float, default=120, help="for each at most")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    faults = [each for each in FAULTS if arguments.only in each.name]
    table = Table("planted fault", "seeds", "seconds", "what the judge said")
    missed = 0
    with ThreadPoolExecutor(arguments.jobs) as threads:
        found = threads.map(partial(hunt, seconds=arguments.seconds), faults)
        for fault, each in zip(faults, found, strict=True):
            missed += each.seeds is None
            seeds = "-" if each.seeds is None else str(each.seeds)
            print(f"{fault.name} | {seeds} | {each.seconds:.0f} | {each.problem}", flush=True)
            table.add_row(fault.name, seeds, f"{each.seconds:.0f}", each.problem)
    Console(soft_wrap=True).print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
