"""Plants a fault into a copy of the product, and runs files of tests there until one finds it.

A test has to show a wrong value or a wrong error: a product that only crashes is not found.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from tests.own_process import ROOT, kill, processes_of, start
from tests.simulation.planted.fault import Planted
from tests.simulation.planted.verdicts import verdict_of

_FOLDERS: Final = ("protocol", "kafka_spark_source", "pyspark_pykafka", "tests", "docs")


class FoundByTest(NamedTuple):
    """How a fault was found.

    Attributes:
        test: The test that found it; None if none did.
        crashed: How many tests only saw that the product crashes.
        seconds: How long that took.
        text: What the test said.
    """

    test: str | None
    crashed: int
    seconds: float
    text: str


def hunt_by_tests(fault: Planted, seconds: float) -> FoundByTest:
    """Run the tests that are to find a fault, for so long at most."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pykafka-planted-") as folder:
        root = Path(folder)
        for each in _FOLDERS:
            shutil.copytree(ROOT / each, root / each, symlinks=True)
        shutil.copy(ROOT / "pyproject.toml", root)
        fault.apply(root)
        # Compiled files are known by the time and the size of their source.
        compiled = importlib.util.cache_from_source(str(root / fault.path))
        Path(compiled).unlink(missing_ok=True)
        lines, end = _lines(root, fault.judges, seconds)
    return found_in(lines, end, time.monotonic() - begin)


def found_in(lines: list[str], end: str, seconds: float) -> FoundByTest:
    """What the lines of a run say; `end` tells what ended it too early, if anything did."""
    verdicts = [each for each in map(verdict_of, lines) if each is not None]
    found = next((each for each in verdicts if not each.crashed), None)
    crashed = sum(each.crashed for each in verdicts)
    if found is None:
        return FoundByTest(None, crashed, seconds, end or f"not found, crashes: {crashed}")
    return FoundByTest(found.test, crashed, seconds, found.text)


def _lines(root: Path, tests: tuple[str, ...], seconds: float) -> tuple[list[str], str]:
    """The lines that a run has printed, and what ended it too early."""
    environment = {
        "PYTHONPATH": os.pathsep.join(map(str, (root, root / "protocol"))),
        "PYTHONHASHSEED": "0",
        "HYPOTHESIS_PROFILE": "quick",
    }
    command = [sys.executable, "-m", "tests.simulation.planted.verdicts", *tests]
    with start(command, root, environment, stdout=subprocess.PIPE) as process:
        try:
            shown, _ = process.communicate(timeout=seconds)
            end = ""
        except subprocess.TimeoutExpired:
            kill(processes_of(process.pid))
            shown, _ = process.communicate()
            end = f"the tests take more than {seconds:.0f} s"
    lines = shown.splitlines()
    if process.returncode not in {0, 1} and not end:
        end = f"the tests ended: {lines[-1] if lines else process.returncode}"
    return lines, end
