"""The supervisor and its client, with `sleep` instead of a broker."""

import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kafka_spark_source.testing import LocalBrokerError
from kafka_spark_source.testing.processes.identity import ProcessIdentity
from kafka_spark_source.testing.processes.processes import SupervisedProcesses
from kafka_spark_source.testing.processes.waiting import Deadline

GONE_SECONDS = 20.0
SLEEP = ["sleep", "600"]

# Python looks for signals before a call of the system: one that comes between that look and the
# call waits for the end of the call.
SLEEP_IN_PYTHON = "while True: time.sleep(0.1)"

# Starts a long process, prints its ids, waits for a line, and does what the test inserts.
STARTER = """
    import os, signal, sys, time
    # The parent may ignore these signals, as nohup and shells with jobs do.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from kafka_spark_source.testing.processes.processes import SupervisedProcesses

    processes = SupervisedProcesses()
    folder = processes.folder
    child = processes.start("sleeper", ["sleep", "600"], folder, folder / "log")
    (folder / "data").mkdir()
    print(processes.supervisor_pid, child, folder, flush=True)
    sys.stdin.readline()
"""


class Started:
    """A Python process that started the supervisor, and all processes that must end with it."""

    def __init__(self, ending: str) -> None:
        code = textwrap.dedent(STARTER) + textwrap.dedent(ending)
        command = [sys.executable, "-c", code]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        supervisor, child, folder = self.process.stdout.readline().split()
        self.supervisor = ProcessIdentity.of(int(supervisor))
        self.child = ProcessIdentity.of(int(child))
        self.folder = Path(os.fsdecode(folder))
        assert self.folder.is_dir()
        self.process.stdin.write(b"\n")
        self.process.stdin.close()

    def everything_ends(self) -> bool:
        return Deadline(GONE_SECONDS).wait_for(lambda: not self.what_remains())

    def what_remains(self) -> list[str]:
        states = {
            "parent": self.process.poll() is None,
            "supervisor": self.supervisor.is_alive,
            "child": self.child.is_alive,
            "folder": self.folder.exists(),
        }
        return [name for name, remains in states.items() if remains]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


@pytest.fixture
def processes() -> Iterator[SupervisedProcesses]:
    started = SupervisedProcesses()
    yield started
    started.close()


def start_sleep(processes: SupervisedProcesses, name: str = "sleeper") -> ProcessIdentity:
    log = processes.folder / "log"
    return ProcessIdentity.of(processes.start(name, SLEEP, processes.folder, log))


def test_output_goes_to_the_log(processes: SupervisedProcesses) -> None:
    log = processes.folder / "log"
    processes.start("talker", ["sh", "-c", "echo out; echo err >&2"], processes.folder, log)
    assert Deadline(GONE_SECONDS).wait_for(lambda: processes.exit_codes()["talker"] == 0)
    assert log.read_text() == "out\nerr\n"


def test_a_log_that_grows_without_end_is_emptied(processes: SupervisedProcesses) -> None:
    """A broker without free descriptors writes some GB in a few minutes."""
    log = processes.folder / "log"
    talk = "head -c 100000000 /dev/zero; sleep 2; echo goes on"
    processes.start("talker", ["sh", "-c", talk], processes.folder, log)
    assert Deadline(GONE_SECONDS).wait_for(lambda: processes.exit_codes()["talker"] == 0)
    text = log.read_text()
    assert len(text) < 64 * 1024 * 1024
    assert re.search(r"\(\d{8,9} bytes of this log were removed\)\n", text)
    assert text.endswith("goes on\n")


def test_process_inherits_no_input_and_no_files(processes: SupervisedProcesses) -> None:
    log = processes.folder / "log"
    processes.start("lister", ["ls", "-l", "/proc/self/fd"], processes.folder, log)
    assert Deadline(GONE_SECONDS).wait_for(lambda: processes.exit_codes()["lister"] is not None)
    assert "pipe" not in log.read_text()


def test_signal_and_exit_code(processes: SupervisedProcesses) -> None:
    sleeper = start_sleep(processes)
    assert processes.exit_codes() == {"sleeper": None}
    processes.signal("sleeper", signal.SIGKILL)
    assert Deadline(GONE_SECONDS).wait_for(lambda: processes.exit_codes()["sleeper"] == -9)
    assert not sleeper.is_alive
    processes.signal("sleeper", signal.SIGKILL)
    assert start_sleep(processes).is_alive


def test_command_that_does_not_exist(processes: SupervisedProcesses) -> None:
    with pytest.raises(LocalBrokerError, match="could not start: FileNotFoundError"):
        processes.start("x", ["/no/such/program"], processes.folder, processes.folder / "log")


def test_unread_response_is_skipped(
    processes: SupervisedProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_processes: SupervisedProcesses) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(SupervisedProcesses, "_read_response", interrupted)
        start_sleep(processes)
    assert processes.exit_codes() == {"sleeper": None}


def test_close_removes_everything_and_can_be_repeated() -> None:
    processes = SupervisedProcesses()
    sleeper = start_sleep(processes)
    supervisor = ProcessIdentity.of(processes.supervisor_pid)
    assert "running" in repr(processes)
    processes.close()
    processes.close()
    assert "closed" in repr(processes)
    assert not sleeper.is_alive
    assert not supervisor.is_alive
    assert not processes.folder.exists()
    with pytest.raises(LocalBrokerError, match="has ended, and the broker or registry with it"):
        processes.exit_codes()


def test_close_ends_a_paused_process() -> None:
    processes = SupervisedProcesses()
    sleeper = start_sleep(processes)
    processes.signal("sleeper", signal.SIGSTOP)
    processes.close()
    assert not sleeper.is_alive


@pytest.mark.skipif(sys.platform != "linux", reason="wants the parent-death signal")
def test_children_end_with_a_killed_supervisor() -> None:
    processes = SupervisedProcesses()
    sleeper = start_sleep(processes)
    os.kill(processes.supervisor_pid, signal.SIGKILL)
    assert Deadline(GONE_SECONDS).wait_for(lambda: not sleeper.is_alive)
    with pytest.raises(LocalBrokerError, match="has ended"):
        processes.exit_codes()
    processes.close()
    assert not processes.folder.exists()


def test_forked_child_does_not_control_the_processes(processes: SupervisedProcesses) -> None:
    sleeper = start_sleep(processes)
    child = os.fork()
    if child == 0:
        processes.close()
        try:
            processes.exit_codes()
        except LocalBrokerError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert sleeper.is_alive
    assert processes.exit_codes() == {"sleeper": None}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_everything_ends_with_a_signalled_parent(number: signal.Signals) -> None:
    with closing(Started(SLEEP_IN_PYTHON)) as started:
        started.process.send_signal(number)
        assert started.everything_ends(), started.what_remains()


@pytest.mark.parametrize("ending", ["pass", "raise ValueError", "os._exit(3)", "sys.exit(1)"])
def test_everything_ends_with_the_parent(ending: str) -> None:
    with closing(Started(f"sys.stderr = open(os.devnull, 'w')\n{ending}")) as started:
        assert started.everything_ends(), started.what_remains()


FORKS = {
    "os.fork": "child = os.fork() or time.sleep(600)",
    # Python does not know this fork, so the child keeps the pipe open.
    "fork of libc": "import ctypes; child = ctypes.CDLL(None).fork() or time.sleep(600)",
    "subprocess": "import subprocess; child = subprocess.Popen(['sleep', '600']).pid",
}


@pytest.mark.parametrize("fork", FORKS.values(), ids=FORKS)
def test_everything_ends_while_a_forked_child_runs(fork: str) -> None:
    ending = f"{fork}\nprint(child, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
    with closing(Started(ending)) as started:
        assert started.process.stdout is not None
        survivor = int(started.process.stdout.readline())
        assert started.everything_ends(), started.what_remains()
        os.kill(survivor, signal.SIGKILL)


def test_detached_processes_run_until_sigterm() -> None:
    with closing(Started("processes.detach()")) as started:
        started.process.wait()
        assert started.child.is_alive
        assert started.folder.is_dir()
        started.supervisor.send(signal.SIGTERM)
        assert started.everything_ends(), started.what_remains()
