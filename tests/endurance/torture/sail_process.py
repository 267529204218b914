"""Sail in a process and a venv of its own; it is started again if it hangs or dies."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.own_process import ROOT

PYTHON = ROOT / ".venv-sail" / "bin" / "python"
_DEADLINE_SECONDS = 240
_GOODBYE_SECONDS = 30


class SailError(Exception):
    """A query on Sail failed; with what Sail said."""


class Sail:
    """Runs one query at a time (tests/jobs/sail_queries.py). Starts with the first one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turn = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()

    @staticmethod
    def is_installed() -> bool:
        """Whether there is the venv."""
        return PYTHON.exists()

    def run(self, request: Mapping[str, Any]) -> None:
        """Returns when a request is done.

        Raises:
            SailError: It failed, or took too long.
        """
        with self._turn:
            process = self._running()
            assert process.stdin is not None
            try:
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
                line = self._lines.get(timeout=_DEADLINE_SECONDS)
            except queue.Empty:
                self._end()
                raise SailError(f"no response within {_DEADLINE_SECONDS} s") from None
            except BrokenPipeError:
                line = ""
            if not line:
                self._end()
                raise SailError("the process ended")
            error = json.loads(line)["error"]
        if error:
            raise SailError(error)

    def close(self) -> None:
        """Ends the process."""
        with self._turn:
            self._end()

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._lines = queue.Queue()
            with (self._folder / "sail.txt").open("a") as printed:
                self._process = subprocess.Popen(
                    [PYTHON, "-m", "tests.jobs.sail_queries"],
                    cwd=self._folder,
                    env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'protocol'}"},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=printed,
                    text=True,
                )
            arguments = (self._process, self._lines)
            threading.Thread(target=_pass_on, args=arguments, daemon=True).start()
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(_GOODBYE_SECONDS)
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process = None


def _pass_on(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    """Passes lines on, and at the end an empty one."""
    assert process.stdout is not None
    try:
        for line in process.stdout:
            lines.put(line)
    except ValueError:
        pass  # closed meanwhile
    lines.put("")
