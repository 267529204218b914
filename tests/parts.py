"""Runs the parts of `make test`, notes how long each takes, and prints a summary at the end.

    python tests/parts.py run NAME -- COMMAND...    one part; its output goes to build/test/NAME.log
    python tests/parts.py report                    a table of the parts, and the slowest tests

`run` needs nothing but Python, since it also runs the parts that install what the others need.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

RESULTS: Final = Path("build/test")

_SLOWEST: Final = 10
_TICK_SECONDS: Final = 30
_PERCENT: Final = re.compile(r"\[\s*(\d+)%\]")
# What pytest prints last: "12 passed, 1 skipped in 3.45s".
_CLOSING: Final = re.compile(r"\d+ (?:passed|failed|error).* in [\d.]+s.*")


def run(name: str, command: list[str]) -> int:
    """Run one part, and return its exit code.

    Prints a line at its start, every 30 s and at its end, and its whole output where it failed.
    """
    RESULTS.mkdir(parents=True, exist_ok=True)
    log = RESULTS / f"{name}.log"
    junit = f"--junitxml={RESULTS.resolve() / name}.xml"
    options = f"{os.environ.get('PYTEST_ADDOPTS', '')} {junit}"
    _say(f"{name}: started")
    begin = time.monotonic()
    with log.open("w") as out:
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PYTEST_ADDOPTS": options},
        )
        ended = threading.Event()
        ticker = threading.Thread(target=_tick, args=(name, log, begin, ended), daemon=True)
        ticker.start()
        code = process.wait()
        ended.set()
    seconds = time.monotonic() - begin
    text = log.read_text(errors="replace")
    if code:
        print(text, flush=True)
    closing = _CLOSING.findall(text)
    outcome = "failed" if code else "done"
    _say(f"{name}: {outcome} after {seconds:.0f} s{': ' if closing else ''}{''.join(closing[-1:])}")
    (RESULTS / f"{name}.json").write_text(json.dumps({"seconds": seconds, "code": code}))
    return code


def _tick(name: str, log: Path, begin: float, ended: threading.Event) -> None:
    while not ended.wait(_TICK_SECONDS):
        percents = _PERCENT.findall(log.read_text(errors="replace"))
        done = f", {percents[-1]} %" if percents else ""
        _say(f"{name}: {time.monotonic() - begin:.0f} s{done}")


def _say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


def report() -> None:
    """Print the time of each part, and the slowest tests of all."""
    from rich.console import Console  # noqa: PLC0415 - not there yet when `run` installs it
    from rich.table import Table  # noqa: PLC0415

    console = Console(width=None if sys.stdout.isatty() else 120)
    parts = Table("part", "seconds", "passed", "skipped", "failed", title="Where the time goes")
    tests: list[tuple[float, str, str]] = []
    totals = [0, 0]
    for path in sorted(RESULTS.glob("*.json"), key=lambda path: path.stat().st_mtime):
        found = json.loads(path.read_text())
        cases = _cases(path.with_suffix(".xml"))
        skipped = sum(case.find("skipped") is not None for case in cases)
        failed = sum(any(case.find(kind) is not None for kind in _BAD) for case in cases)
        passed = len(cases) - skipped - failed
        totals = [totals[0] + passed, totals[1] + (failed or bool(found["code"]))]
        counts = [str(count) if cases else "" for count in (passed, skipped, failed)]
        parts.add_row(path.stem, f"{found['seconds']:.0f}", *counts)
        tests += [(float(case.get("time", 0)), path.stem, _name(case)) for case in cases]
    console.print(parts)
    slowest = Table("seconds", "part", "test", title=f"The slowest {_SLOWEST} tests")
    for seconds, part, name in sorted(tests, reverse=True)[:_SLOWEST]:
        slowest.add_row(f"{seconds:.1f}", part, name)
    console.print(slowest)
    print(f"{totals[0]} passed, {totals[1]} failed")


_BAD: Final = ("failure", "error")


def _cases(path: Path) -> list[ElementTree.Element]:
    if not path.exists():
        return []
    return list(ElementTree.parse(path).getroot().iter("testcase"))  # pytest's own file


def _name(case: ElementTree.Element) -> str:
    return f"{case.get('classname', '').removeprefix('tests.')}::{case.get('name')}"


def main(arguments: list[str]) -> int:
    """Run one part, or report on all."""
    match arguments:
        case ["run", name, "--", *command]:
            return run(name, command)
        case ["report"]:
            report()
            return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
