from __future__ import annotations

import subprocess
import sys

from tests.endurance.torture.session import workers


def test_only_workers_that_a_daemon_has_forked_are_found() -> None:
    """The parent has the command line of a daemon, and its child that of a worker."""
    # One write each: two processes have this output. Both end with their input, at the latest
    # when the block ends.
    fork = "import os; os.write(1, b'%d\\n' % os.fork()); os.read(0, 1)"
    arguments = [sys.executable, "-c", fork, "-m", "pyspark.daemon"]
    before = {*workers()}
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True) as daemon:
        assert daemon.stdout is not None
        child = max(int(daemon.stdout.readline()), int(daemon.stdout.readline()))
        found = {*workers()} - before
    assert found == {child}
