"""Identifies a process by its id and its start time, and sends signals to it.

The id alone is not safe for a kill, because the system reuses ids.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
# Fields 3 and 22 of /proc/<pid>/stat, counted after the name in parentheses; see proc(5).
_STATE = 0
_START_TIME = 19
_PS_SECONDS = 10


class ProcessIdentity(NamedTuple):
    """One process, running or ended.

    `started` is in the system's own format, and empty if the process had ended already.
    """

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity:
        """The process that has this id now."""
        return cls(pid, _start_time(pid) or "")

    @property
    def is_alive(self) -> bool:
        """Whether this process still runs."""
        return bool(self.started) and _start_time(self.pid) == self.started

    def send(self, signal_number: signal.Signals) -> None:
        """Sends a signal, unless the process has ended."""
        if self.is_alive:
            try:
                os.kill(self.pid, signal_number)
            except ProcessLookupError:
                return


def _start_time(pid: int) -> str | None:
    """The start time of a process; None if there is none, or if it is a zombie."""
    if (_PROC / "self" / "stat").exists():
        return _start_time_from_proc(pid)
    return _start_time_from_ps(pid)


def _start_time_from_proc(pid: int) -> str | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[_STATE] in "ZX" else fields[_START_TIME]


def _start_time_from_ps(pid: int) -> str | None:
    ps = shutil.which("ps") or "/bin/ps"
    done = subprocess.run(
        [ps, "-o", "stat=,lstart=", "-p", str(pid)],
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
        timeout=_PS_SECONDS,
    )
    state, _, started = done.stdout.strip().partition(" ")
    return None if not started or state.startswith("Z") else started.strip()
