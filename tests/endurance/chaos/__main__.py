"""The command line of `tests.endurance.chaos`."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from rich.console import Console

from tests.endurance.chaos import __doc__ as description
from tests.endurance.chaos.report import report_of
from tests.endurance.chaos.run import run
from tests.endurance.command import Command, Report, add_seed, execute

# A copy must have caught up by then, after all faults of a round are repaired.
STALL_SECONDS = 30


def _run(given: argparse.Namespace, folder: Path, console: Console) -> Report:
    console.print(f"Seed {given.seed}; the same faults again: make chaos CHAOS_SEED={given.seed}")
    show = partial(console.print, markup=False)
    return report_of(run(folder, given.seed, given.minutes, STALL_SECONDS, show))


if __name__ == "__main__":
    sys.exit(execute(Command("chaos", description, 30, _run, add_seed)))
