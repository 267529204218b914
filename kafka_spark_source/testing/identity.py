"""Tells a process from a later one with the same id. Sends signals to no one else.

A process id alone is not enough to kill by: ids are used again. Together with the time at which
the process started they are.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
# Fields of /proc/<pid>/stat after the name in parentheses: see proc(5), numbers 3 and 22.
_STATE = 0
_START_TIME = 19
_PS_SECONDS = 10


class ProcessIdentity(NamedTuple):
    """One process, now or later.

    Attributes:
        pid: Its id.
        started: When it started, in the system's own notation; empty if it had ended already.
    """

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity:
        """The process that has that id now."""
        return cls(pid, _start_time(pid) or "")

    @property
    def is_alive(self) -> bool:
        """Whether that very process still runs."""
        return bool(self.started) and _start_time(self.pid) == self.started

    def send(self, signal_number: signal.Signals) -> None:
        """Sends a signal, unless the process is gone."""
        if self.is_alive:
            try:
                os.kill(self.pid, signal_number)
            except ProcessLookupError:
                return


def _start_time(pid: int) -> str | None:
    """None where there is no such process, or only what its parent has not collected yet."""
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
