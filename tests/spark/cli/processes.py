"""The command `pykafka` in a process of its own."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

from kafka_spark_source.testing.broker import probe
from kafka_spark_source.testing.processes.identity import ProcessIdentity
from kafka_spark_source.testing.processes.ports import HOST, HeldPorts
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.own_process import all_processes

COMMAND = [
    sys.executable,
    "-c",
    "from kafka_spark_source.cli import main; raise SystemExit(main())",
]
COMMAND_SECONDS = 120

Pykafka = Callable[..., "subprocess.CompletedProcess[str]"]


def in_the_foreground(*arguments: str, address: str) -> "subprocess.Popen[str]":
    """Starts a server with `--foreground --quiet`, whose address begins with `address`."""
    command = subprocess.Popen(
        [*COMMAND, *arguments, "--foreground", "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert command.stdout is not None
    assert command.stdout.readline().startswith(address)
    assert ProcessIdentity.of(command.pid).is_alive
    return command


class Terminal:
    """A command at a terminal of 80 columns, until the block ends.

    Attributes:
        text: All that was read from the terminal, typed text among it.
    """

    def __init__(self, *arguments: str) -> None:
        self._arguments = arguments
        self.text = ""

    def __enter__(self) -> "Terminal":
        self._fd, self._of_the_command = pty.openpty()
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._modes = termios.tcgetattr(self._of_the_command)
        self._process = subprocess.Popen(
            [*COMMAND, *self._arguments],
            stdin=self._of_the_command,
            stdout=self._of_the_command,
            stderr=self._of_the_command,
            env={n: v for n, v in os.environ.items() if n != "COLUMNS"} | {"TERM": "xterm"},
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._fd)
        os.close(self._of_the_command)

    @property
    def is_as_before(self) -> bool:
        """Whether its modes are those of the start, and the cursor is visible."""
        hidden, shown = (self.text.rfind(f"\x1b[?25{mode}") for mode in "lh")
        return hidden <= shown and termios.tcgetattr(self._of_the_command) == self._modes

    def type(self, data: bytes) -> None:
        os.write(self._fd, data)

    def read_until(self, text: str) -> None:
        """Read until this text was printed."""
        while text not in self.text:
            assert self._read(COMMAND_SECONDS), self.text
            assert text in self.text or self._process.poll() is None, self.text

    def read_to_end(self) -> int:
        """Read until the command has ended, and return its exit code."""
        while self._process.poll() is None:
            self._read(0.1)
        while self._read(0):
            pass
        return self._process.returncode

    def interrupt(self) -> int:
        """As Ctrl-C once the command waits; returns the exit code.

        Python looks for signals before a call of the system. One that comes between that look and
        the call is noticed when the call returns: at a prompt, after the next line.
        """
        assert Deadline(COMMAND_SECONDS).wait_for(self._waits), self.text
        self._process.send_signal(signal.SIGINT)
        return self.read_to_end()

    def _waits(self) -> bool:
        """Whether its main thread sleeps in the kernel, and not for another thread; or it ended."""
        pid = self._process.pid
        state = {each.pid: each.state for each in all_processes()}.get(pid)
        if state is None or self._process.poll() is not None:
            return True  # as on systems without /proc
        return state == "S" and "futex" not in Path(f"/proc/{pid}/wchan").read_text()

    def _read(self, seconds: float) -> bool:
        is_ready, _, _ = select.select([self._fd], [], [], seconds)
        if is_ready:
            self.text += os.read(self._fd, 65_536).decode()
        return bool(is_ready)


def free_port() -> int:
    ports = HeldPorts()
    port = ports.take()
    ports.close()
    assert not probe.accepts((HOST, port))
    return port
