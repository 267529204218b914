"""Whether a local broker or registry left something behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

from kafka_spark_source.testing.identity import ProcessIdentity
from kafka_spark_source.testing.waiting import Deadline

GONE_SECONDS = 20.0


def traces_of(pids: Iterable[int], folder: Path) -> Callable[[], bool]:
    """A check whether one of these processes, or the folder, is left."""
    processes = [ProcessIdentity.of(pid) for pid in pids]
    return lambda: folder.exists() or any(process.is_alive for process in processes)


def expect_end_with_parent(program: str, number: signal.Signals, errors: Path) -> None:
    """Fails if what a program started outlives it after a signal.

    The program prints two process ids and a folder, and waits.
    """
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, stderr=stderr
        ) as parent,
    ):
        assert parent.stdout is not None
        supervisor, java, folder = parent.stdout.readline().decode().split()
        any_left = traces_of([int(supervisor), int(java)], Path(folder))
        assert any_left()
        parent.send_signal(number)
        assert Deadline(GONE_SECONDS).wait_for(lambda: not any_left())
        parent.kill()


def never(check: Callable[[], None]) -> bool:
    """A condition that is never met, unless the check raises."""
    check()
    return False
