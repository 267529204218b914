"""Processes of this machine and the CPU that they used, as Linux counts them."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession


def jvm_of(spark: SparkSession) -> int:
    """The process of the session's JVM."""
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]


def descendants(pid: int) -> Iterator[int]:
    """The process and all below it."""
    tree, below = children(), [pid]
    while below:
        yield (each := below.pop())
        below += tree.get(each, [])


def children() -> dict[int, list[int]]:
    """The processes of this machine, by the id of their parent."""
    by_parent: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(stat_of(int(folder.name))[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        by_parent.setdefault(parent, []).append(int(folder.name))
    return by_parent


def stat_of(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on; the second, a name, may contain blanks."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of running processes."""
    ticks = sum(int(ticks) for pid in pids for ticks in stat_of(pid)[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


class Run(NamedTuple):
    """One query: its seconds, and the CPU seconds of each kind of process."""

    seconds: float
    cpu: dict[str, float]


class Processes(NamedTuple):
    """The JVM of Spark and the broker; Python workers are below the JVM.

    Attributes:
        server: The JVM; or the process of a session without one, which counts as Python.
        has_jvm: Which of the two it is.
    """

    server: int
    broker: int
    has_jvm: bool = True

    def cpu(self) -> dict[str, float]:
        """The CPU seconds of each kind until now."""
        jvm = [self.server] if self.has_jvm else []
        return {
            "jvm": cpu_seconds(jvm),
            "python": cpu_seconds(pid for pid in descendants(self.server) if pid not in jvm),
            "broker": cpu_seconds([self.broker]),
        }

    def timed(self, work: Callable[[], object]) -> Run:
        """Do the work. An idle worker that ends meanwhile takes its CPU time with it."""
        before = self.cpu()
        started = time.perf_counter()
        work()
        seconds = time.perf_counter() - started
        after = self.cpu()
        return Run(seconds, {name: max(0.0, used - before[name]) for name, used in after.items()})


def cpu_of_a_row(rows: int, runs: Sequence[Run]) -> dict[str, int]:
    """The CPU time of a row in ns, by kind of process; the median of the runs."""
    return {
        kind: round(statistics.median(run.cpu[kind] for run in runs) * 1e9 / rows)
        for kind in runs[0].cpu
    }
