"""The command line of `tests.endurance.chaos`."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path

from rich.console import Console

from tests.endurance.chaos import __doc__ as description
from tests.endurance.chaos.report import save, show
from tests.endurance.chaos.run import run

# A copy must have caught up by then, after all faults of a round are repaired.
STALL_SECONDS = 30


def main() -> int:
    """Run, show and save; the exit code is 1 if there were problems."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--results", type=Path, default=Path("build/chaos"))
    given = parser.parse_args()
    # So that all processes end with this one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    console = Console(soft_wrap=True, highlight=False)
    console.print(f"seed {given.seed}; the same faults again: make chaos CHAOS_SEED={given.seed}")
    given.results.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        result = run(
            Path(folder),
            given.seed,
            given.minutes,
            STALL_SECONDS,
            partial(console.print, markup=False),
        )
    show(result, console)
    save(result, given.results)
    console.print(f"figures and plot: {given.results}")
    return 1 if result.problems else 0


if __name__ == "__main__":
    sys.exit(main())
