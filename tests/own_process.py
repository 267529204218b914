"""Python in a process of its own, with a deadline: for Spark sessions that need a JVM of their own.

What it leaves behind is found by its session, which all of its descendants belong to: Spark gives
its Python workers a process group of their own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyspark

ROOT = Path(__file__).parents[1]
LIMIT_SECONDS = 280
_GOODBYE_SECONDS = 30


def run_module(folder: Path, module: str, *arguments: str) -> Any:
    """Runs `python -m module arguments` in a folder; the last line that it prints is JSON."""
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env=os.environ | ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, errors = process.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            _kill(processes_of(process.pid))
            out, errors = process.communicate()
            raise AssertionError(f"{module} took too long:\n{out}{errors}") from None
    assert process.returncode == 0, out + errors
    _expect_nothing_of(process.pid)
    return json.loads(out.splitlines()[-1])


ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    # Else the workers are whatever `python3` is on the PATH.
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_HOME": str(Path(pyspark.__file__).parent),
    # Spark's word for: a free port for Spark Connect, temporary folders for executors.
    "SPARK_TESTING": "1",
    # Jobs are short, and the better compiler costs them more than it saves: half of their CPU time.
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def processes_of(session: int) -> list[int]:
    """The processes of a session that still run (none where there is no /proc)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # Behind the program's name, which may hold anything: state, parent, group, session.
            state, _, _, its_session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue  # it ended meanwhile
        if int(its_session) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


def _expect_nothing_of(session: int) -> None:
    deadline = time.monotonic() + _GOODBYE_SECONDS
    while (left := processes_of(session)) and time.monotonic() < deadline:
        time.sleep(0.05)
    _kill(left)
    assert not left, f"processes {left} outlived the one that started them"


def _kill(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
