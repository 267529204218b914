"""The command line of `tests.endurance.torture`."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from rich.console import Console

from tests.endurance.command import Command, Report, add_seed, execute
from tests.endurance.torture import __doc__ as description
from tests.endurance.torture.cases import Case, case_of
from tests.endurance.torture.queries import WAYS
from tests.endurance.torture.report import report_of, report_of_case
from tests.endurance.torture.run import COPIES, run, run_case


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_seed(parser)
    parser.add_argument("--way", choices=[*WAYS, COPIES], action="append", help="only this way")
    # Read at once, as the folder of an earlier run is removed.
    parser.add_argument("--case", type=_case, help="only the case that a run wrote into this file")


def _case(file: str) -> Case:
    return case_of(Path(file).read_text())


def _run(given: argparse.Namespace, folder: Path, console: Console) -> Report:
    show = partial(console.print, markup=False)
    if given.case:
        return report_of_case(differs=run_case(folder, given.case, show))
    ways = given.way or (*WAYS, COPIES)
    again = "make chaos CHAOS_SEED" if ways == [COPIES] else "make torture SEED"
    show(f"Seed {given.seed}; the same topics, queries and faults again: {again}={given.seed}")
    return report_of(run(folder, given.seed, given.minutes, show, ways))


if __name__ == "__main__":
    sys.exit(execute(Command("torture", description, 120, _run, _arguments)))
