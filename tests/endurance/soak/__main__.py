"""The command line of the soak test.

    python -m tests.endurance.soak [--minutes 120] [--results build/soak] [--of spark-alone]

`--of spark-alone` measures what Spark itself keeps, with nothing of this project.
Exits with 1 if something grew, or was not delivered once and in order.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tests.endurance.command import Command, Report, execute
from tests.endurance.soak.report import report_of
from tests.endurance.soak.run import RUNS

_COLUMNS = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--of", choices=list(RUNS), default="pykafka")


def _run(given: argparse.Namespace, folder: Path, console: Console) -> Report:
    seconds = given.minutes * 60
    with Progress(*_COLUMNS, console=console) as progress:
        bar = progress.add_task("starting", total=seconds)
        return report_of(
            RUNS[given.of](
                seconds,
                folder,
                lambda now, words: progress.update(bar, completed=now, description=words),
            )
        )


COMMAND = Command("soak", __doc__, 120, _run, _arguments)

if __name__ == "__main__":
    sys.exit(execute(COMMAND))
