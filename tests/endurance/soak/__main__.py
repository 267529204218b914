"""The command line of the soak test.

    python -m tests.endurance.soak [--minutes 120] [--folder build/soak] [--of spark-alone]

`--of spark-alone` measures what Spark itself keeps, with nothing of this project.
Exits with 1 if something grew, or was not delivered once and in order.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tests.endurance.soak import report
from tests.endurance.soak.run import RUNS, Findings
from tests.endurance.soak.slopes import judge_all

# Below this, 1 MiB an hour is less than what a process needs to settle.
_JUDGED_SECONDS = 55 * 60

# A log without a terminal keeps the table readable.
_console = Console(width=None if sys.stdout.isatty() else 120)


def main() -> int:
    """Run, print and save the results; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--folder", type=Path, default=Path("build/soak"))
    parser.add_argument("--of", choices=list(RUNS), default="pykafka")
    given = parser.parse_args()
    folder: Path = given.folder.resolve()
    # A run has its own folder, so that only an earlier run's is removed.
    run_folder = folder / "run"
    shutil.rmtree(run_folder, ignore_errors=True)
    run_folder.mkdir(parents=True)
    findings = _run(given.of, given.minutes * 60, run_folder)
    verdicts = judge_all(findings.series, findings.seconds)
    facts = {"records": findings.records, "jobs": findings.jobs, "faults": findings.faults}
    report.save(folder / "soak.json", findings.seconds, findings.series, verdicts, facts)
    report.plot(folder / "soak.png", findings.seconds, findings.series)
    _console.print(report.table(verdicts))
    _console.print(
        f"Samples and plot: {folder / 'soak.json'}, {folder / 'soak.png'}", soft_wrap=True
    )
    if findings.seconds < _JUDGED_SECONDS:
        _console.print("Note: in less than an hour, caches that fill look like growth.")
    for note in findings.notes:
        _console.print(f"Note: {note}.")
    wrong = [f"{name} grows" for name, verdict in verdicts.items() if verdict.grows]
    wrong += findings.faults
    for sentence in wrong:
        _console.print(f"FAILED: {sentence}.", style="red", soft_wrap=True)
    if not wrong:
        copied = f"Both streams copied all {findings.records} records once and in order, and "
        jobs = f"{findings.jobs} batch jobs succeeded."
        _console.print(f"Nothing grew. {copied if findings.records else ''}{jobs}")
    return bool(wrong)


def _run(of: str, seconds: float, folder: Path) -> Findings:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=_console) as progress:
        bar = progress.add_task("starting", total=seconds)
        return RUNS[of](
            seconds,
            folder,
            lambda now, words: progress.update(bar, completed=now, description=words),
        )


if __name__ == "__main__":
    sys.exit(main())
