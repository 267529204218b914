"""Runs the examples as a user runs them, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_spark_source.testing.broker.commands import FAST_START_FLAGS
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.own_process import kill, outputs_of, processes_of

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
GOODBYE_SECONDS = 30


def _environment() -> dict[str, str]:
    # The C2 compiler costs short jobs more than it saves.
    java_options = [os.environ.get("JAVA_TOOL_OPTIONS", ""), *FAST_START_FLAGS]
    return os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_TOOL_OPTIONS": " ".join(java_options),
    }


@contextmanager
def running_example(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A running example. The test fails if it leaves processes behind; they are killed."""
    with subprocess.Popen(
        [sys.executable, "-u", *command],
        cwd=ROOT,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            is_alone = Deadline(GOODBYE_SECONDS if process.poll() is not None else 0).wait_for(
                lambda: not processes_of(process.pid)
            )
            kill(processes_of(process.pid))
    assert is_alone, "the example left processes behind"


def run_example(*command: str) -> str:
    """Run an example to its end, and return what it printed."""
    with running_example(*command) as process:
        shown, errors = outputs_of(process)
    assert process.returncode == 0, shown + errors
    return shown
