from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from threading import Thread

import pytest

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.own_process import (
    ROOT,
    all_processes,
    command_of,
    descendants_of,
    parse_status,
    run_command,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

SOON_SECONDS = 30
PACKAGES = ("kafka_spark_source", "protocol/kafka_protocol")
# Starts a process, prints its id, and waits.
PARENT = """
import subprocess, sys, time
from pathlib import Path
from tests.own_process import start
child = start([sys.executable, "-c", "input()"], Path(), stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_ends_with_the_one_that_started_it(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert Deadline(SOON_SECONDS).wait_for(lambda: "input()" in command_of(child))
        assert descendants_of(parent.pid) == [child]
        parent.send_signal(number)
        assert Deadline(SOON_SECONDS).wait_for(lambda: not command_of(child))


# Starts a process that prints whether it ignores SIGINT and SIGHUP.
HEEDING = """
import subprocess, sys
from tests.own_process import let_children_heed_signals
let_children_heed_signals()
script = "from signal import *; print([getsignal(each) is SIG_IGN for each in (SIGINT, SIGHUP)])"
subprocess.run([sys.executable, "-c", script], check=True)
"""


def test_processes_heed_signals_that_the_tests_ignore() -> None:
    """As those that a shell starts in the background do, with nohup."""
    in_background = ["sh", "-c", 'trap "" INT HUP; exec "$0" -c "$1"', sys.executable, HEEDING]
    assert subprocess.check_output(in_background, cwd=ROOT, text=True) == "[False, False]\n"


def test_a_process_imports_the_packages_of_this_tree(tmp_path: Path) -> None:
    """Without those that are installed: `-S` leaves them out."""
    script = "from importlib.util import find_spec; print(find_spec({!r}).origin)"
    for folder in PACKAGES:
        named = script.format(Path(folder).name)
        shown = run_command(tmp_path, [sys.executable, "-S", "-c", named])
        assert Path(shown.strip()).parent == ROOT / folder


# Tells that it runs, and has printed.
SLEEPER = """
import sys, time
from pathlib import Path
print("begun", flush=True)
Path(sys.argv[1]).touch()
time.sleep(600)
"""


class TooLongError(BaseException):
    """As pytest-timeout ends a test, by a signal."""


def test_a_command_ends_with_its_test_and_what_it_printed_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def end(_number: int, _frame: object) -> None:
        raise TooLongError

    begun = tmp_path / "begun"

    def interrupt() -> None:
        Deadline(SOON_SECONDS).wait_for(begun.exists)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, end)
    try:
        Thread(target=interrupt).start()
        with pytest.raises(TooLongError):
            run_command(tmp_path, [sys.executable, "-c", SLEEPER, str(begun)])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert "begun" in capsys.readouterr().err
    assert not any(str(begun) in command_of(pid) for pid in descendants_of(os.getpid()))


def test_processes_know_their_parents_and_sessions() -> None:
    (this,) = (each for each in all_processes() if each.pid == os.getpid())
    assert (this.parent, this.session) == (os.getppid(), os.getsid(0))
    assert this.pid in descendants_of(this.parent)


def test_status() -> None:
    text = "Name:\tpython 1\nVmRSS:\t  1024 kB\nThreads:\t3\nGroups:\t\nSigCgt:\t00ff\n"
    assert parse_status(text)["VmRSS"] == 1024
    assert parse_status(text)["Threads"] == 3
    assert "Name" not in parse_status(text)
