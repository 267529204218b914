"""A process of the demo, owned by a supervisor: its folder, its log, the wait until it is ready.

It ends with the `with` block, and with this process, even if that is killed.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from typing_extensions import Self

from kafka_spark_source.testing.errors import StartError
from kafka_spark_source.testing.processes.log_tail import how_it_ended, relevant_lines
from kafka_spark_source.testing.processes.processes import SupervisedProcesses
from kafka_spark_source.testing.processes.waiting import Deadline

_KILL_SECONDS: Final = 15


class Server:
    """One process; `name` is for errors."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._processes = SupervisedProcesses()
        self._log_start = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._processes.close()

    @property
    def folder(self) -> Path:
        """Its temporary folder."""
        return self._processes.folder

    @property
    def log(self) -> str:
        """What it has printed since its last start."""
        return self._log_file.read_text(errors="replace")[self._log_start :]

    def run(self, command: Sequence[str], seconds: float) -> None:
        """Run a command to its end.

        Raises:
            StartError: It failed, or took too long.
        """
        self.start(command)
        if not Deadline(seconds).wait_for(lambda: self._exit_code() is not None):
            raise self._failure(f"did not end within {seconds:g} s")
        if self._exit_code():
            self.check()

    def start(self, command: Sequence[str], folder: Path | None = None) -> None:
        """Start the process, which must not run."""
        self._log_start = len(self._log_file.read_text()) if self._log_file.exists() else 0
        self._processes.start(self.name, command, folder or self.folder, self._log_file)

    def wait(self, is_ready: Callable[[], bool], seconds: float) -> None:
        """Wait until it is ready.

        Raises:
            StartError: It ended, or the time is over. The error has the end of its log.
        """

        def holds() -> bool:
            self.check()
            return is_ready()

        if not Deadline(seconds).wait_for(holds):
            raise self._failure(f"was not ready after {seconds:g} s")

    def check(self) -> None:
        """Check that it runs.

        Raises:
            StartError: It ended.
        """
        code = self._exit_code()
        if code is not None:
            raise self._failure(how_it_ended(code))

    def kill(self) -> None:
        """SIGKILL for the process and its children; returns when it has ended."""
        self._processes.signal(self.name, signal.SIGKILL)
        if not Deadline(_KILL_SECONDS).wait_for(lambda: self._exit_code() is not None):
            raise self._failure("does not end, though it was killed")

    @property
    def _log_file(self) -> Path:
        return self.folder / f"{self.name}.log"

    def _exit_code(self) -> int | None:
        return self._processes.exit_codes()[self.name]

    def _failure(self, reason: str) -> StartError:
        return StartError(f"{self.name} {reason}", relevant_lines(self.log.splitlines()))
