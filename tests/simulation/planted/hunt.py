"""Plants a fault into a copy of the product, and runs seeds there until one breaks a promise.

The seeds that have what the fault is about are run first, so that a hunt takes less time. A seed in
which the product only crashes does not count, nor one that does not end, nor one that breaks a
promise without the fault, too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from tests.own_process import ROOT
from tests.simulation.campaign import result_of
from tests.simulation.drawing import draw
from tests.simulation.planted.fault import Planted
from tests.simulation.scenario import Scenario

SEEDS: Final = 200
"""A hunt runs so many seeds: the likely ones of ten times as many, then the first ones."""

_PACKAGES: Final = ("protocol", "kafka_spark_source", "pyspark_pykafka")
# A fault may let the client wait for ever: a seed takes some seconds.
_HANGS_SECONDS: Final = 60

# Runs in the copy: prints a line for each seed, and ends at the first one that breaks a promise.
_SEEDS: Final = """
import json, sys, time
from tests.simulation.campaign import result_of
deadline = time.monotonic() + float(sys.argv[2])
for seed in json.loads(sys.argv[1]):
    result = result_of(seed)
    broken = result.broken and result.broken._asdict()
    has_crashed = bool(result.problems) and not broken
    print(json.dumps({"seed": seed, "crashed": has_crashed, "broken": broken}), flush=True)
    if broken or time.monotonic() > deadline:
        break
"""


class Found(NamedTuple):
    """How a fault was found.

    Attributes:
        seed: The seed that broke a promise; None if none did.
        seeds: How many were run.
        crashed: In how many of them the product crashed, and broke no other promise.
        seconds: How long that took.
        judge: Who found it.
        text: What the judge said.
    """

    seed: int | None
    seeds: int
    crashed: int
    seconds: float
    judge: str
    text: str


def hunt(
    fault: Planted, seconds: float, seeds: int = SEEDS, found_before: int | None = None
) -> Found:
    """Run so many seeds with the fault in them, for so long at most.

    The seed that found it before is run first, if there is one.
    """
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for package in _PACKAGES:
            shutil.copytree(ROOT / package, root / package, ignore=_compiled)
        (root / "tests").symlink_to(ROOT / "tests")
        fault.apply(root)
        path = os.pathsep.join(map(str, (root, root / "protocol")))

        def run(order: Sequence[int]) -> Found:
            left = max(seconds - (time.monotonic() - begin), 0)
            command = [sys.executable, "-c", _SEEDS, json.dumps(order), str(left)]
            lines, end = _lines(command, root, path, left)
            return found_in(lines, end, time.monotonic() - begin)

        order = order_of(fault, seeds)
        if found_before is not None:
            order = [*dict.fromkeys([found_before, *order])]
        return by_the_fault(order, run, lambda seed: bool(result_of(seed).broken))


def by_the_fault(
    order: Sequence[int],
    run: Callable[[Sequence[int]], Found],
    fails_without: Callable[[int], bool],
) -> Found:
    """What is found in seeds that break no promise without the fault.

    Args:
        order: The seeds.
        run: Runs seeds with the fault, up to the first that breaks a promise.
        fails_without: Whether a seed breaks one without the fault, so that it says nothing.
    """
    found = run(order)
    while found.seed is not None and fails_without(found.seed):
        order = order[order.index(found.seed) + 1 :]
        later = run(order)
        seeds, crashed = found.seeds + later.seeds, found.crashed + later.crashed
        found = later._replace(seeds=seeds, crashed=crashed)
    return found


def found_in(lines: list[str], end: str, seconds: float) -> Found:
    """What the lines of a hunt say; `end` tells what ended it too early, if anything did."""
    results = [json.loads(line) for line in lines if line.startswith("{")]
    crashed = sum(each["crashed"] for each in results)
    broken = results[-1]["broken"] if results else None
    if broken is None:
        text = end or f"not found in {len(results)} seeds"
        return Found(None, len(results), crashed, seconds, "", text)
    text = broken["text"].splitlines()[-1]
    return Found(results[-1]["seed"], len(results), crashed, seconds, broken["judge"], text)


def order_of(fault: Planted, seeds: int) -> list[int]:
    """So many seeds: the likely ones of ten times as many, then the first ones from 0 on."""
    if fault.likely is None:
        return [*range(seeds)]
    likely = [seed for seed in range(10 * seeds) if fault.likely(_drawn(seed))]
    return [*dict.fromkeys([*likely, *range(seeds)])][:seeds]


@cache
def _drawn(seed: int) -> Scenario:
    return draw(seed)


def _compiled(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name == "__pycache__"]


def _lines(command: list[str], cwd: Path, path: str, seconds: float) -> tuple[list[str], str]:
    """The lines that a hunt has printed, and what ended it too early."""
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
        return (error.stdout or b"").decode().splitlines(), "a seed does not end"
    shown = done.stderr.strip().splitlines()
    end = f"the hunt ended: {shown[-1] if shown else ''}" if done.returncode else ""
    return done.stdout.splitlines(), end
