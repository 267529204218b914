"""The identity of processes."""

import os
import signal
import subprocess
import sys

import pytest

from kafka_spark_source.testing.processes import identity
from kafka_spark_source.testing.processes.identity import ProcessIdentity


@pytest.fixture(params=["proc", "ps"])
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "proc" and sys.platform != "linux":
        pytest.skip("no /proc here")
    by = {"proc": identity._start_time_from_proc, "ps": identity._start_time_from_ps}
    # A system uses one of the two only.
    monkeypatch.setattr(identity, "_start_time", by[request.param])


@pytest.mark.usefixtures("source")
def test_is_alive_until_the_process_ends() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        sleeper = ProcessIdentity.of(process.pid)
        alive = [sleeper.is_alive]
        sleeper.send(signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        alive.append(sleeper.is_alive)  # a zombie runs no more
    alive.append(sleeper.is_alive)
    assert alive == [True, False, False]
    assert ProcessIdentity.of(process.pid) == (process.pid, "")


@pytest.mark.usefixtures("source")
def test_later_process_with_the_same_id() -> None:
    earlier = ProcessIdentity(os.getpid(), "long ago")
    assert not earlier.is_alive
    earlier.send(signal.SIGKILL)
