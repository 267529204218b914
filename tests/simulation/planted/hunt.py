"""Plants a fault into a copy of the product, and runs seeds there until one fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from tests.own_process import ROOT
from tests.simulation.planted.fault import Planted

_PACKAGES: Final = ("protocol", "kafka_spark_source", "pyspark_pykafka")
# A fault may let the client wait for ever: a seed takes a second.
_HANGS_SECONDS: Final = 60

# Runs in the copy: prints each seed's problems as they are found.
_SEEDS: Final = """
import sys, time
from tests.simulation.campaign import result_of
deadline = time.monotonic() + float(sys.argv[1])
seed = 0
while time.monotonic() < deadline:
    result = result_of(seed)
    seed += 1
    print(seed, flush=True)
    if result.problems:
        print("FOUND", result.problems[0].splitlines()[-1], flush=True)
        break
"""


class Found(NamedTuple):
    """How a fault was found.

    Attributes:
        seeds: In the first so many seeds; None if it was not found.
        seconds: How long that took.
        problem: What the judge said.
    """

    seeds: int | None
    seconds: float
    problem: str


def hunt(fault: Planted, seconds: float) -> Found:
    """Run seeds with the fault in them, from seed 0 on, for so long at most."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for package in _PACKAGES:
            shutil.copytree(ROOT / package, root / package, ignore=_compiled)
        (root / "tests").symlink_to(ROOT / "tests")
        fault.apply(root)
        path = os.pathsep.join(map(str, (root, root / "protocol")))
        lines = _lines([sys.executable, "-c", _SEEDS, str(seconds)], root, path, seconds)
    seeds = [int(line) for line in lines if line.isdigit()]
    problems = [line.removeprefix("FOUND ") for line in lines if line.startswith("FOUND")]
    taken = time.monotonic() - begin
    if problems:
        return Found(len(seeds), taken, problems[0])
    return Found(None, taken, f"not found in {len(seeds)} seeds")


def _compiled(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name == "__pycache__"]


def _lines(command: list[str], cwd: Path, path: str, seconds: float) -> list[str]:
    environment = os.environ | {"PYTHONPATH": path, "PYTHONHASHSEED": "0"}
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds + _HANGS_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        shown = (error.stdout or b"").decode()
        return [*shown.splitlines(), "FOUND a seed does not end"]
    if done.returncode:
        # What the fault breaks outside of the judge's view is found, too.
        return [*done.stdout.splitlines(), f"FOUND {done.stderr.strip().splitlines()[-1]}"]
    return done.stdout.splitlines()
