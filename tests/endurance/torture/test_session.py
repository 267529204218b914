from __future__ import annotations

import subprocess
import sys

from tests.endurance.torture.session import is_overload, workers


def test_only_workers_that_a_daemon_has_forked_are_found() -> None:
    """The parent has the command line of a daemon, and its child that of a worker."""
    # One write each: two processes have this output, and Python may not buffer it.
    fork = "import os, time; os.write(1, b'%d\\n' % os.fork()); time.sleep(60)"
    arguments = [sys.executable, "-c", fork, "-m", "pyspark.daemon"]
    before = {*workers()}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout is not None
        child = max(int(daemon.stdout.readline()), int(daemon.stdout.readline()))
        found = {*workers()} - before
        daemon.kill()
    subprocess.run(["kill", str(child)], check=True)
    assert found == {child}


def test_an_overload_is_told_from_other_errors() -> None:
    assert is_overload("terminated with exception: Python worker failed to connect back. SQL")
    assert not is_overload("KafkaError: partition t-0 has no leader")
