"""A standalone cluster of Spark: a master and two workers, each in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from kafka_spark_source.testing.waiting import Deadline
from tests.own_process import ENVIRONMENT, processes_of

SPARK_BIN = Path(pyspark.__file__).parent / "bin"
_SOON_SECONDS = 180
_HOST = "127.0.0.1"
_WORKER_HOSTS = ("127.0.0.2", "127.0.0.3")


@contextmanager
def standalone_cluster(folder: Path, cores: int = 1, **environment: str) -> Iterator[str]:
    """Two workers with these cores each, on hosts of their own; yields the master's URL.

    The environment is that of the workers, and so of executors.
    """
    with ExitStack() as stack:
        printed = stack.enter_context(_daemon(folder, "Master", "--host", _HOST))

        def urls() -> list[str]:
            return re.findall(r"Starting Spark master at (spark://\S+)", printed.read_text())

        assert Deadline(_SOON_SECONDS).wait_for(lambda: bool(urls())), printed.read_text()
        for host in _WORKER_HOSTS:
            worker = ("--host", host, "--cores", str(cores), "--memory", "1g")
            work = ("--work-dir", str(folder / "work"))
            stack.enter_context(_daemon(folder, "Worker", *worker, *work, urls()[0], **environment))
        yield urls()[0]


@contextmanager
def _daemon(folder: Path, name: str, *arguments: str, **environment: str) -> Iterator[Path]:
    """A daemon of the cluster; yields the file with all that it prints."""
    printed = folder / f"{name}-{len([*folder.iterdir()])}.txt"
    with printed.open("w") as out:
        process = subprocess.Popen(
            [
                str(SPARK_BIN / "spark-class"),
                f"org.apache.spark.deploy.{name.lower()}.{name}",
                *("--webui-port", "0", "--port", "0"),
                *arguments,
            ],
            cwd=folder,
            env={**os.environ, **ENVIRONMENT, **environment},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield printed
    finally:
        for pid in processes_of(process.pid):
            os.kill(pid, 9)
        process.wait()
