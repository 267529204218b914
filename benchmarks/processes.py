"""Processes of this machine and the CPU that they used, as Linux counts them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

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
    found: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(stat_of(int(folder.name))[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        found.setdefault(parent, []).append(int(folder.name))
    return found


def stat_of(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on; the second, a name, may contain blanks."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of running processes."""
    ticks = sum(int(ticks) for pid in pids for ticks in stat_of(pid)[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")
