"""Whether a local broker or registry left something behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from kafka_spark_source.testing.processes.identity import ProcessIdentity

GONE_SECONDS = 20.0


def traces_of(pids: Iterable[int], folder: Path) -> Callable[[], bool]:
    """A check whether one of these processes, or the folder, is left."""
    processes = [ProcessIdentity.of(pid) for pid in pids]
    return lambda: folder.exists() or any(process.is_alive for process in processes)


def never(check: Callable[[], None]) -> bool:
    """A condition that is never met, unless the check raises."""
    check()
    return False
