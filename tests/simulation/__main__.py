"""`python -m tests.simulation`: many seeds, or one of them with its time line."""

from __future__ import annotations

import argparse
import os
import random
import sys
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.simulation.campaign import Totals, campaign, problems_of
from tests.simulation.drawing import draw
from tests.simulation.judge import violations
from tests.simulation.reach import measure
from tests.simulation.run import run
from tests.simulation.scenario import Scenario, from_json
from tests.simulation.shrink import shrink
from tests.simulation.timeline import render

_SHOWN_EVERY_SEEDS: Final = 20


def main() -> int:
    """Run; the exit code is 1 if something was found."""
    arguments = _arguments()
    console = Console(highlight=False, soft_wrap=True)
    if arguments.scenario is not None:
        return _show(from_json(arguments.scenario.read_text()), console)
    is_one = arguments.seeds is None and arguments.seconds is None and not arguments.coverage
    if arguments.seed is not None and is_one:
        return _show_seed(arguments.seed, console)
    first = random.randrange(2**31) if arguments.seed is None else arguments.seed
    if arguments.coverage:
        return measure(arguments.seconds or 60.0, arguments.jobs, first, console)
    console.print(f"Seeds from {first} on")

    def shown(totals: Totals) -> None:
        if totals.seeds % _SHOWN_EVERY_SEEDS == 0:
            console.print(f"{totals.seeds} seeds, {_speed(totals):.0f} a minute")

    totals = campaign(
        first,
        seeds=arguments.seeds,
        seconds=arguments.seconds if arguments.seeds is None else None,
        jobs=arguments.jobs,
        shown=shown,
    )
    _report(totals, console)
    for failure in totals.failures:
        _show_failure(failure.seed, failure.problems, console)
    return 1 if totals.failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seconds", type=float, help="run seeds for so long")
    parser.add_argument("--seeds", type=int, help="run so many seeds")
    parser.add_argument("--seed", type=int, help="this seed, or the first one")
    parser.add_argument("--jobs", type=int, default=1, help="operating system processes")
    parser.add_argument("--coverage", action="store_true", help="show what is reached")
    parser.add_argument("--scenario", type=Path, help="a file with a scenario")
    arguments = parser.parse_args()
    if arguments.seconds is None and arguments.seeds is None and arguments.seed is None:
        arguments.seconds = 60.0
    return arguments


def _show_seed(seed: int, console: Console) -> int:
    scenario = draw(seed)
    problems = problems_of(scenario)
    if not problems:
        return _show(scenario, console)
    _show_failure(seed, problems, console)
    return 1


def _show(scenario: Scenario, console: Console) -> int:
    outcome, trace = run(scenario)
    problems = violations(outcome)
    render(trace, console)
    for problem in problems:
        console.print(f"[bold red]{problem}", markup=True)
    console.print(f"{outcome.events} events, {outcome.level_ms:.0f} ms, digest {outcome.digest}")
    return 1 if problems else 0


def _show_failure(seed: int, problems: list[str], console: Console) -> None:
    console.print(f"[bold red]Seed {seed} failed:")
    for problem in problems[:10]:
        console.print(problem, markup=False)
    kind = _kind(problems[0])
    smallest = shrink(
        draw(seed), lambda scenario: any(_kind(each) == kind for each in problems_of(scenario))
    )
    console.print(
        f"The smallest scenario that still fails has {len(smallest.faults)} faults and "
        f"{smallest.records} records. Repeat it with --scenario FILE:"
    )
    console.print(smallest.to_json(), markup=False)
    _show(smallest, console)


def _kind(problem: str) -> str:
    """What a problem is about, without its numbers, so that shrinking stays with one problem."""
    return "".join(c for c in problem if not c.isdigit())[:40]


def _speed(totals: Totals) -> float:
    return totals.seeds / totals.seconds * 60 if totals.seconds else 0.0


def _report(totals: Totals, console: Console) -> None:
    table = Table("fault", "times")
    for name, times in sorted(totals.faults.items()):
        table.add_row(name, f"{times:,}")
    console.print(table)
    sinks = ", ".join(f"{count} {name}" for name, count in sorted(totals.sinks.items()))
    console.print(
        f"{totals.seeds:,} seeds in {totals.seconds:.0f} s, {_speed(totals):.0f} a minute; "
        f"{totals.virtual_ms / 3_600_000:.1f} virtual hours, {totals.records:,} records, "
        f"{totals.events:,} events; sinks: {sinks}; {len(totals.failures)} failed"
    )


def _repeatable() -> None:
    """Begin again with a fixed seed of hashes: the order of sets decides which request is first."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        again = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(sys.executable, again, os.environ | {"PYTHONHASHSEED": "0"})


if __name__ == "__main__":
    _repeatable()
    sys.exit(main())
