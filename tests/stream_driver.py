"""The driver of a stream in a process of its own, to kill it and its child processes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from typing_extensions import Self

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.jobs.stream_to_files import STARTED
from tests.overload import is_overload
from tests.own_process import command_of, is_executor, kill, processes_of, start

_SOON_SECONDS = 180
_MOST_TRIES = 5


class Driver:
    """Runs a job of `tests.jobs` that prints STARTED. All its state and output is in its folder.

    It ends at the end of the `with` block, and with the process that started it.
    The connector is the format of the source; the options are those of the source, or other
    arguments of the job. A query that ends because Spark had no time to start a Python process is
    started again, a few times, as a supervisor does.
    """

    def __init__(
        self,
        folder: Path,
        connector: str,
        options: Mapping[str, str],
        job: str = "stream_to_files",
        environment: Mapping[str, str] = {},
    ) -> None:
        self._start_seconds = 0.0
        self._printed = folder / "printed.txt"
        arguments = [connector, str(folder), json.dumps(options)]
        command = [sys.executable, "-m", f"tests.jobs.{job}", *arguments]
        self._start = partial(start, command, folder, environment)
        self._tries = 0
        self._process = self._started()

    def _started(self) -> subprocess.Popen[str]:
        self._begin = time.monotonic()
        self._tries += 1
        with self._printed.open("w") as printed:
            return self._start(stdout=printed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.kill()

    def wait_for_start(self) -> None:
        """Returns when the query has been started."""
        text = f"{STARTED}\n"
        started = Deadline(_SOON_SECONDS).wait_for(
            lambda: text in self._printed.read_text() or self._process.poll() is not None
        )
        assert started, f"the query does not start: {self.printed()}"
        if self._process.poll() is not None:
            return self.expect_running()
        self._start_seconds = time.monotonic() - self._begin

    def live_for(self, start_times: float) -> None:
        """Wait for a multiple of the start's duration, so that a slow machine gets as far."""
        try:
            self._process.wait(start_times * self._start_seconds)
        except subprocess.TimeoutExpired:
            return
        self.expect_running()

    def expect_running(self) -> None:
        """Fails if the query ended by itself."""
        if self._process.poll() is None:
            return
        printed = self.printed()
        assert is_overload(printed), printed
        assert self._tries < _MOST_TRIES, printed
        self.kill()
        self._process = self._started()
        self.wait_for_start()

    @property
    def pid(self) -> int:
        """The id of the driver's process, and of the session of all its processes."""
        return self._process.pid

    def wait_for_end(self) -> None:
        """Returns when the job has ended by itself; fails if it failed."""
        code = self._process.wait(_SOON_SECONDS)
        assert code == 0, self._printed.read_text()

    def workers(self) -> list[int]:
        """The Python processes that Spark has started: its daemons, planners, and workers."""
        others = set(processes_of(self._process.pid)) - {self._process.pid}
        return [pid for pid in others if "\0-m\0pyspark." in command_of(pid)]

    def executors(self) -> list[int]:
        """The JVMs of executors, on a `local-cluster`."""
        return [*filter(is_executor, processes_of(self._process.pid))]

    def printed(self) -> str:
        """All that it has printed."""
        return self._printed.read_text()

    def kill(self) -> None:
        """Ends everything at once: the driver, its JVM, their Python workers."""
        session = self._process.pid

        def is_empty() -> bool:
            left = processes_of(session)
            kill(left)
            return not left

        assert Deadline(_SOON_SECONDS).wait_for(is_empty)
        self._process.wait()
