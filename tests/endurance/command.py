"""Runs of this room as commands: their arguments, their folder, what they show and how they end."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console, RenderableType

from benchmarks.report import pyplot


class Report(NamedTuple):
    """What a run has to show.

    Attributes:
        shown: Tables and sentences, in order.
        figures: For the file of figures: what `json` can write.
        draw: Draws the plot with `matplotlib.pyplot`, and returns its figure; None for no plot.
        problems: A sentence for each; a good run has none.
    """

    shown: Sequence[RenderableType]
    figures: Mapping[str, object]
    draw: Callable[[Any], Any] | None
    problems: Sequence[str]


class Command(NamedTuple):
    """A run.

    Attributes:
        name: Of its files, and of its folder in `build`.
        description: For `--help`.
        minutes: For how long, unless `--minutes` says it.
        run: Gets the arguments, a folder for its files, and where to print.
        arguments: Adds further arguments.
    """

    name: str
    description: str | None
    minutes: float
    run: Callable[[argparse.Namespace, Path, Console], Report]
    arguments: Callable[[argparse.ArgumentParser], object] = lambda parser: None


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Adds `--seed`, by default another one each time."""
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))


def execute(command: Command) -> int:
    """Runs a command with the arguments of this process.

    The files of a run with problems stay, those of a good one are removed.

    Returns:
        The exit code: 1 if there were problems.
    """
    parser = argparse.ArgumentParser(
        description=command.description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=command.minutes)
    parser.add_argument("--results", type=Path, default=Path("build") / command.name)
    command.arguments(parser)
    given = parser.parse_args()
    # A log without a terminal keeps the tables readable.
    width = None if sys.stdout.isatty() else 140
    console = Console(soft_wrap=True, highlight=False, width=width)
    results: Path = given.results.resolve()
    # A run has its own folder, so that only an earlier run's is removed.
    folder = results / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # So that all processes end with this one.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        report = command.run(given, folder, console)
    finally:
        signal.signal(signal.SIGTERM, before)
    save(report, results, command.name)
    console.print(*report.shown, sep="\n")
    for problem in report.problems:
        console.print(f"PROBLEM: {problem}", style="red", markup=False)
    if report.problems:
        console.print(f"The files of the run: {folder}")
    else:
        shutil.rmtree(folder)
    console.print(f"Figures: {results}")
    return 1 if report.problems else 0


def save(report: Report, folder: Path, name: str) -> None:
    """Writes the figures, and draws the plot, if there is one."""
    figures = {**report.figures, "problems": list(report.problems)}
    (folder / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    if report.draw is None:
        return
    plt = pyplot()
    figure = report.draw(plt)
    figure.savefig(folder / f"{name}.png", dpi=110)
    plt.close(figure)
