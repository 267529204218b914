"""The command line of `tests.endurance.torture`."""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
from functools import partial
from pathlib import Path

from rich.console import Console

from tests.endurance.torture import __doc__ as description
from tests.endurance.torture.cases import case_of
from tests.endurance.torture.queries import WAYS
from tests.endurance.torture.report import save, show
from tests.endurance.torture.run import run, run_case


def main() -> int:
    """Run, show and save; the exit code is 1 if there were problems."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--way", choices=list(WAYS), action="append", help="only this way")
    parser.add_argument("--case", type=Path, help="only the case that a run wrote into this file")
    parser.add_argument("--results", type=Path, default=Path("build/torture"))
    given = parser.parse_args()
    # So that all processes end with this one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    console = Console(soft_wrap=True, highlight=False, width=None if sys.stdout.isatty() else 140)
    say = partial(console.print, markup=False)
    results: Path = given.results.resolve()
    folder = results / f"run-{given.seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if given.case:
        differs = run_case(folder, case_of(given.case.read_text()), say)
        say("it still differs" if differs else "no difference")
        return int(differs)
    say(f"seed {given.seed}; the same topics and queries again: make torture SEED={given.seed}")
    result = run(folder, given.seed, given.minutes, say, given.way or tuple(WAYS))
    show(result, console)
    save(result, results)
    if result.problems:
        say(f"the brokers' data and what queries wrote: {folder}")
    else:
        shutil.rmtree(folder)
    say(f"figures and plot: {results}")
    return 1 if result.problems else 0


if __name__ == "__main__":
    sys.exit(main())
