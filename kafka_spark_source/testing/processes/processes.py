"""Starts a supervisor and sends requests to it.

All processes of a server are children of the supervisor, never of this process. Nothing about
Kafka may enter this module.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_spark_source.testing.errors import LocalBrokerError
from kafka_spark_source.testing.processes import supervisor

if TYPE_CHECKING:
    from collections.abc import Sequence

_RESPONSE_SECONDS = 30.0
_EXIT_SECONDS = 15.0


class SupervisedProcesses:
    """Processes that end with this one, in a temporary folder that is removed with them.

    Attributes:
        folder: The temporary folder; the supervisor creates and removes it.
        supervisor_pid: The process id of the supervisor, which owns all others.

    Raises:
        LocalBrokerError: The supervisor does not start, or (any method) has ended.
    """

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._last_id = 0
        self._unread = b""
        self._supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__, tempfile.gettempdir()],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # A new session, so that Ctrl-C in the terminal reaches this process only.
            start_new_session=True,
        )
        _open_here.add(self)
        first = self._read_response()
        self.folder = Path(first["folder"])
        self.supervisor_pid: int = first["pid"]

    def __repr__(self) -> str:
        state = "closed" if self._supervisor.poll() is not None else "running"
        return f"<SupervisedProcesses {state}, supervisor {self._supervisor.pid}>"

    def start(self, name: str, command: Sequence[str], folder: Path, log: Path) -> int:
        """Starts a command in `folder`, appends its output to `log`, and returns its process id.

        The other methods know it by `name`; the name of an ended process can be reused.
        """
        response = self._request(
            "start", name=name, command=list(command), folder=str(folder), log=str(log)
        )
        return int(response["pid"])

    def signal(self, name: str, signal_number: signal.Signals) -> None:
        """Sends a signal to the process and its children, unless it has ended."""
        self._request("signal", name=name, signal=int(signal_number))

    def exit_codes(self) -> dict[str, int | None]:
        """The exit code of each process, by its name; None while it runs."""
        codes: dict[str, int | None] = self._request("status")["exit_codes"]
        return codes

    def detach(self) -> None:
        """Keeps the processes running after this one; then SIGTERM ends the supervisor."""
        self._request("detach")
        self._release_pipes()
        # Prevents the warning of Popen about a running process.
        self._supervisor.returncode = 0

    def close(self) -> None:
        """Kills all processes, removes the folder, and returns when that is done."""
        if self._owner != os.getpid() or self._supervisor.returncode is not None:
            return
        self._release_pipes()
        try:
            self._supervisor.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder, ignore_errors=True)

    def _request(self, what: str, **details: object) -> dict[str, Any]:
        with self._lock:
            self._last_id += 1
            request = {"request": what, "id": self._last_id, **details}
            self._write(json.dumps(request).encode() + b"\n")
            response = self._read_response()
            # An exception such as Ctrl-C may have left an earlier response unread.
            while response.get("id") != self._last_id:
                response = self._read_response()
        if "error" in response:
            raise LocalBrokerError(f"the supervisor could not {what}: {response['error']}")
        return response

    def _write(self, line: bytes) -> None:
        pipe = self._supervisor.stdin
        if pipe is None or pipe.closed:
            raise self._gone()
        try:
            pipe.write(line)
        except BrokenPipeError:
            raise self._gone() from None

    def _read_response(self) -> dict[str, Any]:
        pipe = self._supervisor.stdout
        deadline = time.monotonic() + _RESPONSE_SECONDS
        while b"\n" not in self._unread:
            if pipe is None or pipe.closed or not _is_readable(pipe.fileno(), deadline):
                raise self._gone()
            received = os.read(pipe.fileno(), 1 << 16)
            if not received:
                raise self._gone()
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        response: dict[str, Any] = json.loads(line)
        return response

    def _gone(self) -> LocalBrokerError:
        return LocalBrokerError(
            f"the supervisor (process {self._supervisor.pid}) has ended, and the broker or "
            "registry with it"
        )

    def _release_pipes(self) -> None:
        for pipe in (self._supervisor.stdin, self._supervisor.stdout):
            if pipe is not None:
                pipe.close()

    def _forget(self) -> None:
        """Closes the pipes in a forked child, so that they do not keep the supervisor running."""
        self._release_pipes()
        self._supervisor.returncode = 0


def _is_readable(descriptor: int, deadline: float) -> bool:
    """Waits for bytes or the end of file. Unlike select, poll accepts any descriptor."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(deadline - time.monotonic(), 0.0) * 1000))


_open_here: weakref.WeakSet[SupervisedProcesses] = weakref.WeakSet()


def _forget_all() -> None:
    for each in list(_open_here):
        each._forget()


os.register_at_fork(after_in_child=_forget_all)
