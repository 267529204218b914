"""The process that owns a cluster's JVMs and its temporary folder, and ends both.

`processes.SupervisedProcesses` starts it as a file, not as a module, with Python's `-I -S`. It may
import the standard library only, so that it starts fast and independent of the user's environment.
It must have one thread, because of the kernel's parent-death signal.

It reads requests from standard input, one JSON object per line, and writes one line for each. The
end of standard input means that its parent has ended: then it kills every process group and removes
the folder. A forked child of the parent may keep the pipe open, so it also checks the parent's
process id. After the request `detach`, only SIGTERM ends it.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER_PREFIX = "pykafka-"
_TICK_SECONDS = 0.5
_CLEANUP_SECONDS = 10.0
# A broker without free descriptors logs 12 MB a second (Kafka 0.10.2 to 4.3): accept() fails, and
# is tried again at once.
_MAX_LOG_BYTES = 64 * 1024 * 1024
_PR_SET_PDEATHSIG = 1

_Request = dict[str, Any]


class Supervisor:
    """The child processes by name, and the requests about them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._logs: set[Path] = set()
        self._parent: int | None = os.getppid()
        self._requests: dict[str, Callable[[_Request], dict[str, Any]]] = {
            "start": self._start,
            "signal": self._signal,
            "status": self._status,
            "detach": self._detach,
        }

    def serve(self) -> None:
        """Handles requests until the parent has ended."""
        pending = b""
        while self._has_parent():
            ready, _, _ = select.select([0] if self._parent else [], [], [], _TICK_SECONDS)
            self._reap()
            for log in self._logs:
                _limit(log)
            if not ready:
                continue
            received = os.read(0, 1 << 16)
            if not received:
                return
            *lines, pending = (pending + received).split(b"\n")
            for line in lines:
                self._handle(json.loads(line))

    def clean_up(self) -> None:
        """Kills every child with its process group, then removes the folder."""
        for child in self._children.values():
            _kill_group(child)
        for child in self._children.values():
            try:
                child.wait(_CLEANUP_SECONDS)
            except subprocess.TimeoutExpired:
                continue
        _remove(self._folder)

    def _has_parent(self) -> bool:
        return self._parent is None or self._parent == os.getppid()

    def _reap(self) -> None:
        for child in self._children.values():
            child.poll()

    def _handle(self, request: _Request) -> None:
        try:
            response = self._requests[request["request"]](request)
        except Exception as error:  # noqa: BLE001 - the parent raises it
            response = {"error": f"{type(error).__name__}: {error}"}
        _send({**response, "id": request["id"]})
        if request["request"] == "detach":
            _redirect((0, 1), os.devnull)

    def _start(self, request: _Request) -> dict[str, Any]:
        self._logs.add(Path(request["log"]))
        with Path(request["log"]).open("ab") as log:
            child = subprocess.Popen(
                request["command"],
                cwd=request["folder"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                # Safe with preexec_fn: this process has one thread, and it only makes system calls.
                preexec_fn=_die_with_parent,  # noqa: PLW1509
            )
        self._children[request["name"]] = child
        return {"pid": child.pid}

    def _signal(self, request: _Request) -> dict[str, Any]:
        child = self._children[request["name"]]
        if child.poll() is None:
            os.killpg(child.pid, request["signal"])
        return {}

    def _status(self, _request: _Request) -> dict[str, Any]:
        return {"exit_codes": {name: child.poll() for name, child in self._children.items()}}

    def _detach(self, _request: _Request) -> dict[str, Any]:
        self._parent = None
        return {}


def main(temporary_root: str) -> None:
    """Serves until the parent ends, SIGTERM, or an error; then removes everything."""
    signal.signal(signal.SIGTERM, _exit)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=temporary_root))
    supervisor = Supervisor(folder)
    try:
        _redirect((2,), str(folder / "supervisor.log"))
        _send({"folder": str(folder), "pid": os.getpid()})
        supervisor.serve()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        supervisor.clean_up()


def _exit(_signal_number: int, _frame: object) -> NoReturn:
    raise SystemExit(0)


def _send(response: dict[str, Any]) -> None:
    try:
        os.write(1, json.dumps(response).encode() + b"\n")
    except BrokenPipeError:
        raise SystemExit(0) from None


def _redirect(descriptors: tuple[int, ...], path: str) -> None:
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    for descriptor in descriptors:
        os.dup2(opened, descriptor)
    os.close(opened)


_libc = ctypes.CDLL(None)
_PID = os.getpid()


def _die_with_parent() -> None:
    """On Linux, the kernel kills this process when its parent ends, even by SIGKILL."""
    if sys.platform == "linux":
        _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != _PID:
            os._exit(1)


def _limit(log: Path) -> None:
    """Empty a log that is too large. Its writers append, so they go on at its new end."""
    try:
        size = log.stat().st_size
        if size > _MAX_LOG_BYTES:
            os.truncate(log, 0)
            with log.open("ab") as again:
                again.write(b"(%d bytes of this log were removed)\n" % size)
    except OSError:
        pass  # it is checked again


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            child.kill()


def _remove(folder: Path) -> None:
    deadline = time.monotonic() + _CLEANUP_SECONDS
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
