"""The starter's end of a supervisor: starts it, asks it for processes, lets it go.

All processes of a cluster are children of the supervisor, never of this process. What must not come
in here: anything about Kafka.
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

from kafka_spark_source.testing import supervisor
from kafka_spark_source.testing.errors import LocalBrokerError

if TYPE_CHECKING:
    from collections.abc import Sequence

_ANSWER_SECONDS = 30.0
_GOODBYE_SECONDS = 15.0


class SupervisedProcesses:
    """Processes that end with this one, in a temporary folder that ends with them.

    Attributes:
        folder: The temporary folder; the supervisor made it and removes it.
        supervisor_pid: The process that owns all others.

    Raises:
        LocalBrokerError: The supervisor does not start, or (any method) is gone.
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
            # A session of its own: Ctrl-C in the terminal is the starter's to handle.
            start_new_session=True,
        )
        _open_here.add(self)
        hello = self._read_answer()
        self.folder = Path(hello["folder"])
        self.supervisor_pid: int = hello["pid"]

    def __repr__(self) -> str:
        state = "closed" if self._supervisor.poll() is not None else "running"
        return f"<SupervisedProcesses {state}, supervisor {self._supervisor.pid}>"

    def start(self, name: str, command: Sequence[str], folder: Path, log: Path) -> int:
        """Starts a command and returns its process id; a name whose process ended can come again.

        Args:
            name: What to call the process in the other methods.
            command: The program and its arguments.
            folder: Its working directory.
            log: Where its output is appended.
        """
        answer = self._ask(
            "start", name=name, command=list(command), folder=str(folder), log=str(log)
        )
        return int(answer["pid"])

    def signal(self, name: str, signal_number: signal.Signals) -> None:
        """Sends a signal to the process and its children; none where it has ended."""
        self._ask("signal", name=name, signal=int(signal_number))

    def exit_codes(self) -> dict[str, int | None]:
        """How each process ended, by its name; None while it runs."""
        codes: dict[str, int | None] = self._ask("status")["exit_codes"]
        return codes

    def detach(self) -> None:
        """Lets the processes live on after this one; then SIGTERM ends the supervisor."""
        self._ask("detach")
        self._release_pipes()
        # Nobody waits for it any more, and Popen would warn of that.
        self._supervisor.returncode = 0

    def close(self) -> None:
        """Kills all processes, removes the folder, and returns when that is done."""
        if self._owner != os.getpid() or self._supervisor.returncode is not None:
            return
        self._release_pipes()
        try:
            self._supervisor.wait(_GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder, ignore_errors=True)

    def _ask(self, what: str, **details: object) -> dict[str, Any]:
        with self._lock:
            self._last_id += 1
            request = {"ask": what, "id": self._last_id, **details}
            self._write(json.dumps(request).encode() + b"\n")
            answer = self._read_answer()
            # An exception of the starter's, such as Ctrl-C, may have left an answer unread.
            while answer.get("id") != self._last_id:
                answer = self._read_answer()
        if "error" in answer:
            raise LocalBrokerError(f"the supervisor could not {what}: {answer['error']}")
        return answer

    def _write(self, line: bytes) -> None:
        pipe = self._supervisor.stdin
        if pipe is None or pipe.closed:
            raise self._gone()
        try:
            pipe.write(line)
        except BrokenPipeError:
            raise self._gone() from None

    def _read_answer(self) -> dict[str, Any]:
        pipe = self._supervisor.stdout
        deadline = time.monotonic() + _ANSWER_SECONDS
        while b"\n" not in self._unread:
            if pipe is None or pipe.closed or not _is_readable(pipe.fileno(), deadline):
                raise self._gone()
            received = os.read(pipe.fileno(), 1 << 16)
            if not received:
                raise self._gone()
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _gone(self) -> LocalBrokerError:
        return LocalBrokerError(
            f"the supervisor of the local broker (process {self._supervisor.pid}) is gone, and "
            "the broker with it"
        )

    def _release_pipes(self) -> None:
        for pipe in (self._supervisor.stdin, self._supervisor.stdout):
            if pipe is not None:
                pipe.close()

    def _forget(self) -> None:
        """In a forked child: holds nothing that would keep the supervisor waiting."""
        self._release_pipes()
        self._supervisor.returncode = 0


def _is_readable(descriptor: int, deadline: float) -> bool:
    """Waits for bytes or the end of file. Unlike select, poll takes any descriptor."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(deadline - time.monotonic(), 0.0) * 1000))


_open_here: weakref.WeakSet[SupervisedProcesses] = weakref.WeakSet()


def _forget_all() -> None:
    for each in list(_open_here):
        each._forget()


os.register_at_fork(after_in_child=_forget_all)
