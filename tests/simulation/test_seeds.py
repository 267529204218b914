"""A slice of the simulation: fixed seeds, and new ones in `make test-all`; and all cases.

Each in a process of its own, in which sets have the same order each time.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

from tests.own_process import ROOT, run_command

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


def simulate(*arguments: object) -> list[str]:
    """The lines of `python -m tests.simulation`; fails with all of them if it finds something."""
    command = [sys.executable, "-m", "tests.simulation", *map(str, arguments)]
    path = os.pathsep.join(map(str, (ROOT, ROOT / "protocol")))
    # Without the seed the command begins again with it, and imports everything twice. Without local
    # folders no mark of a session goes from one run to the next, nor into the project.
    environment = {"PYTHONPATH": path, "PYTHONHASHSEED": "0", "SPARK_LOCAL_DIRS": ""}
    return run_command(ROOT, command, **environment).splitlines()


def test_fixed_seeds() -> None:
    assert simulate("--seed", 0, "--seconds", 6)[-1].endswith("; 0 failed")


@pytest.mark.slow
def test_new_seeds() -> None:
    first = random.randrange(2**31)
    assert simulate("--seed", first, "--seconds", 60)[-1].endswith("; 0 failed")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_cases_that_failed_once(case: Path) -> None:
    simulate("--scenario", case)


def test_a_seed_gives_the_same_run() -> None:
    first, second = (simulate("--seed", 7)[-1] for _ in range(2))
    assert "digest" in first
    assert first == second
