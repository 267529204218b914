"""Spark's daemons, each in a process of its own: a standalone cluster, or another server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pyspark

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.own_process import kill, processes_of, start

SPARK_BIN = Path(pyspark.__file__).parent / "bin"
_SOON_SECONDS = 180
_HOST = "127.0.0.1"
_WORKER_HOSTS = ("127.0.0.2", "127.0.0.3")


@contextmanager
def standalone_cluster(
    folder: Path,
    cores: int = 1,
    of_each: Sequence[Mapping[str, str]] = ({}, {}),
    **environment: str,
) -> Iterator[str]:
    """Two workers with these cores each, on hosts of their own; yields the master's URL.

    The environment is that of the workers, and so of executors, with more variables `of_each`.
    """
    with ExitStack() as stack:
        printed = stack.enter_context(_node(folder, "Master", "--host", _HOST))
        url = wait_for_text(printed, r"Starting Spark master at (spark://\S+)")
        for host, own in zip(_WORKER_HOSTS, of_each, strict=True):
            worker = ("--host", host, "--cores", str(cores), "--memory", "1g")
            work = ("--work-dir", str(folder / "work"))
            stack.enter_context(_node(folder, "Worker", *worker, *work, url, **environment, **own))
        yield url


def wait_for_text(printed: Path, pattern: str) -> str:
    """Wait until a daemon has printed what matches, and return the first group of it."""

    def found() -> list[str]:
        return re.findall(pattern, printed.read_text())

    assert Deadline(_SOON_SECONDS).wait_for(lambda: bool(found())), printed.read_text()
    return found()[0]


def _node(
    folder: Path, name: str, *arguments: str, **environment: str
) -> AbstractContextManager[Path]:
    main_class = f"org.apache.spark.deploy.{name.lower()}.{name}"
    ports = ("--webui-port", "0", "--port", "0")
    return daemon(folder, "spark-class", main_class, *ports, *arguments, **environment)


@contextmanager
def daemon(folder: Path, program: str, *arguments: str, **environment: str) -> Iterator[Path]:
    """A program of Spark's that runs until the end; yields the file with all that it prints."""
    printed = folder / f"daemon-{len([*folder.iterdir()])}.txt"
    with printed.open("w") as out:
        command = [str(SPARK_BIN / program), *arguments]
        process = start(command, folder, environment, stdout=out)
    try:
        yield printed
    finally:
        kill(processes_of(process.pid))
        process.wait()
