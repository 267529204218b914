"""Runs Python in its own process, with a deadline, for Spark sessions that need their own JVM.

Leftover processes are found by their session id, which all descendants share. The process group
would not do: Spark gives its Python workers another one.
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

from kafka_spark_source.testing.commands import FAST_START_FLAGS

ROOT = Path(__file__).parents[1]
LIMIT_SECONDS = 280
_GOODBYE_SECONDS = 30


def run_module(folder: Path, module: str, *arguments: str) -> Any:
    """Run `python -m module arguments` in a folder, and parse its last line as JSON."""
    out = run_command(folder, [sys.executable, "-m", module, *arguments])
    return json.loads(out.splitlines()[-1])


def run_command(folder: Path, command: list[str], **environment: str) -> str:
    """Run a command in a folder, and return what it printed."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | ENVIRONMENT | environment,
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
            raise AssertionError(f"{command} took too long:\n{out}{errors}") from None
    assert process.returncode == 0, out + errors
    _expect_nothing_of(process.pid)
    return out


ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    # The default is the `python3` on the PATH.
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_HOME": str(Path(pyspark.__file__).parent),
    # Gives Spark Connect a free port and executors temporary folders.
    "SPARK_TESTING": "1",
    # Jobs are short: the C2 compiler costs them half of their CPU time.
    "JAVA_TOOL_OPTIONS": " ".join(FAST_START_FLAGS),
}


def processes_of(session: int) -> list[int]:
    """The running processes of a session; none on systems without /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # After the program's name, which may hold any text: state, parent, group, session.
            state, _, _, its_session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue  # it has ended
        if int(its_session) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


def _expect_nothing_of(session: int) -> None:
    deadline = time.monotonic() + _GOODBYE_SECONDS
    while (left := processes_of(session)) and time.monotonic() < deadline:
        time.sleep(0.05)
    _kill(left)
    assert not left, f"processes {left} outlived the one that started them"


def command_of(pid: int) -> str:
    """The command line, with a null character between its parts; empty if the process ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def is_executor(pid: int) -> bool:
    """Whether a process is the JVM of an executor of Spark's."""
    return "CoarseGrainedExecutorBackend" in command_of(pid)


def _kill(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
