"""`make demo-cdc`: the demo, and a table of what it has shown; exit code 0 for equal rows."""

from __future__ import annotations

import argparse
import os
import sys
import time

from rich.console import Console
from rich.table import Table

from kafka_spark_source.testing import LocalBrokerError
from kafka_spark_source.testing.broker.commands import FAST_START_FLAGS
from tests.change_data.demo import Outcome, run

console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo-cdc", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long rows are changed")
    parser.add_argument("--seed", type=int, default=1, help="which changes are drawn")
    arguments = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Compiling more costs short jobs more than it saves.
    os.environ.setdefault("JAVA_TOOL_OPTIONS", " ".join(FAST_START_FLAGS))
    begin = time.monotonic()

    def report(what: str) -> None:
        console.print(f"[dim]{time.monotonic() - begin:5.0f} s[/] {what}")

    try:
        outcome = run(arguments.seconds, report, arguments.seed)
    except LocalBrokerError as error:
        console.print(f"make demo-cdc: {error}", markup=False)
        return 1
    return show(outcome)


def show(outcome: Outcome) -> int:
    """Print what it has shown; the exit code."""
    console.print(", ".join(f"{count:,} {kind}" for kind, count in outcome.changes.items()))
    table = Table(title=f"After {outcome.kills} kills", title_justify="left")
    table.add_column("table")
    for heading in ("rows in PostgreSQL", "rows in Delta", "missing", "too many", "different"):
        table.add_column(heading, justify="right")
    for each in outcome.tables:
        counts = (each.database, each.rows, each.missing, each.extra, each.different)
        table.add_row(each.table, *(f"{count:,}" for count in counts))
    console.print(table)
    if not all(each.is_equal for each in outcome.tables):
        console.print("[bold red]The tables differ.[/]")
        return 1
    console.print("[bold green]All rows are equal; everything is stopped again.[/]")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
