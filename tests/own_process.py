"""Runs Python in its own process, for Spark sessions that need their own JVM.

The deadline is that of the test (`pytest.mark.timeout`): a second one would be missed where the
first was moved, and fail a test that only takes long.

Leftover processes are found by their session id, which all descendants share. The process group
would not do: Spark gives its Python workers another one. A process ends with the one that started
it, also if that is killed: the kernel sends it SIGKILL (prctl(2), PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyspark

from kafka_spark_source.testing.broker.commands import FAST_START_FLAGS

ROOT = Path(__file__).parents[1]
_GOODBYE_SECONDS = 30


def let_children_heed_signals() -> None:
    """Let processes that start from here heed SIGINT and SIGHUP, also if this one ignores them.

    A shell ignores SIGINT for what it starts in the background, and nohup SIGHUP. An ignored signal
    is inherited, a handler is not.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


def run_module(folder: Path, module: str, *arguments: str) -> Any:
    """Run `python -m module arguments` in a folder, and parse its last line as JSON."""
    shown = run_command(folder, [sys.executable, "-m", module, *arguments])
    return json.loads(shown.splitlines()[-1])


def run_command(folder: Path, command: list[str], **environment: str) -> str:
    """Run a command in a folder, and return what it printed."""
    pipe = subprocess.PIPE
    with start(command, folder, environment, stdout=pipe, stderr=pipe) as process:
        out, errors = outputs_of(process)
    assert process.returncode == 0, out + errors
    _expect_nothing_of(process.pid)
    return out


def outputs_of(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Wait for the end of a process that began a session; returns what it printed, and its errors.

    If the test ends before it, the session is killed, and what it printed is shown.
    """
    try:
        return process.communicate()
    except BaseException:  # the test takes too long, or Ctrl-C
        kill(processes_of(process.pid))
        sys.stderr.write("".join(process.communicate()))
        raise


def start(
    command: list[str],
    folder: Path,
    environment: Mapping[str, str] = {},
    *,
    stdout: IO[str] | int,
    stderr: IO[str] | int = subprocess.STDOUT,
) -> subprocess.Popen[str]:
    """Start a command in a session of its own, which ends when the thread that calls this ends."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _MORTAL, str(os.getpid()), *command],
        cwd=folder,
        # A driver that is killed leaves its files behind: pytest removes the folder.
        env={**os.environ, **ENVIRONMENT, "SPARK_LOCAL_DIRS": str(folder.resolve()), **environment},
        stdout=stdout,
        stderr=stderr,
        text=True,
        start_new_session=True,
    )


# The wish survives `exec`. A parent that has ended before is another one by now.
_MORTAL = """
import os, signal, sys
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        sys.exit("the parent has ended")
os.execvp(sys.argv[2], sys.argv[2:])
"""

ENVIRONMENT = {
    "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'protocol'}",
    # The default is the `python3` on the PATH.
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_HOME": str(Path(pyspark.__file__).parent),
    # Gives Spark Connect a free port and executors temporary folders.
    "SPARK_TESTING": "1",
    # Jobs are short: the C2 compiler costs them half of their CPU time.
    "JAVA_TOOL_OPTIONS": " ".join(FAST_START_FLAGS),
}


class Process(NamedTuple):
    """A process of this machine; `session` is the id of the process that began its session."""

    pid: int
    state: str
    parent: int
    session: int


def all_processes() -> list[Process]:
    """All processes; none on systems without /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # After the program's name, which may hold any text: state, parent, group, session.
            state, parent, _, session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue  # it has ended
        found.append(Process(int(stat.parent.name), state, int(parent), int(session)))
    return found


def processes_of(session: int) -> list[int]:
    """The running processes of a session."""
    return [each.pid for each in all_processes() if each.session == session and each.state != "Z"]


def descendants_of(pid: int) -> list[int]:
    """The children of a process, their children, and so on."""
    children: dict[int, list[int]] = {}
    for each in all_processes():
        children.setdefault(each.parent, []).append(each.pid)
    found = [*children.get(pid, ())]
    for each in found:  # it grows meanwhile
        found += children.get(each, ())
    return found


def status_of(pid: int) -> dict[str, int]:
    """The numbers in /proc/PID/status, memory in kB; none if the process ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return {}
    return parse_status(text)


def parse_status(text: str) -> dict[str, int]:
    """The numbers in the text of /proc/PID/status."""
    lines = (line.partition(":") for line in text.splitlines())
    fields = {name: value.split() for name, _, value in lines}
    return {name: int(field[0]) for name, field in fields.items() if field and field[0].isdigit()}


def _expect_nothing_of(session: int) -> None:
    deadline = time.monotonic() + _GOODBYE_SECONDS
    while (left := processes_of(session)) and time.monotonic() < deadline:
        time.sleep(0.05)
    kill(left)
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


def kill(pids: list[int]) -> None:
    """Kill processes; some may have ended."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
