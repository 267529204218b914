"""Numbers of objects: of Python processes on a signal, and of the live objects of a JVM."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from kafka_spark_source.testing.java import find_java
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.own_process import ENVIRONMENT

_HANDLER: Final = Path(__file__).parent / "inside"
# A process that computes in C answers later, and is left out of the sample.
_ANSWER_SECONDS: Final = 1
_JCMD_SECONDS: Final = 60
_TOTAL: Final = re.compile(r"^Total\s+(\d+)\s+(\d+)\s*$", re.MULTILINE)


def environment(folder: Path) -> dict[str, str]:
    """Environment variables with which Python processes count their objects into a folder."""
    paths = [str(_HANDLER), ENVIRONMENT["PYTHONPATH"], os.environ.get("PYTHONPATH", "")]
    return {"SOAK_OBJECTS": str(folder), "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def count_objects(folder: Path, pids: Iterable[int]) -> dict[int, int]:
    """The number of Python objects of each process that answers."""
    files = {pid: folder / str(pid) for pid in pids}
    for pid, file in files.items():
        file.unlink(missing_ok=True)
        try:
            os.kill(pid, signal.SIGURG)
        except ProcessLookupError:
            pass  # it ended meanwhile
    Deadline(_ANSWER_SECONDS).wait_for(
        lambda: all(
            file.exists() or not Path(f"/proc/{pid}").exists() for pid, file in files.items()
        )
    )
    return {pid: int(file.read_text()) for pid, file in files.items() if file.exists()}


class LiveObjects(NamedTuple):
    """What a full garbage collection leaves in a JVM's heap."""

    objects: int
    mebibytes: float


def find_jcmd() -> str | None:
    """The `jcmd` beside the `java` that runs Spark; None if it is a JRE without one."""
    beside = find_java().resolve().with_name("jcmd")
    return str(beside) if beside.exists() else shutil.which("jcmd")


def live_objects(jcmd: str, jvm: int) -> LiveObjects:
    """Run a full garbage collection in a JVM, and count what is left.

    Raises:
        RuntimeError: The JVM has ended, or does not answer in time.
    """
    command = [jcmd, str(jvm), "GC.class_histogram"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_JCMD_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"jcmd has no answer after {_JCMD_SECONDS} s") from error
    return parse_histogram(done.stdout + done.stderr)


def parse_histogram(text: str) -> LiveObjects:
    """The last line of `GC.class_histogram`: the number of objects and their bytes."""
    found = _TOTAL.search(text)
    if found is None:
        raise RuntimeError(f"jcmd prints no total: {text[-500:]}")
    return LiveObjects(int(found[1]), int(found[2]) / 2**20)
