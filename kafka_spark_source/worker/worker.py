"""Settings of Spark's Python workers, and facts of the session in the driver's workers."""

from __future__ import annotations

import contextlib
import gc
import os
import socket
from functools import cache
from pathlib import Path
from typing import Final

# The setting of a session by which Spark reaches its workers by Unix sockets, not by TCP.
UNIX_SOCKETS: Final = "spark.python.unix.domain.socket.enabled"
_FIRST_WITH_UNIX_SOCKETS: Final = (4, 1)

# The open files of this process.
_DESCRIPTORS: Final = Path("/proc/self/fd")

# Spark sets this for its workers to the folders of spark.local.dir.
_LOCAL_FOLDERS: Final = "SPARK_LOCAL_DIRS"

# Below the highest value of the threshold, 32 MiB, with the header of the block.
_LARGEST_KEPT_BYTES: Final = 31 * 1024 * 1024


@cache
def exclude_modules_from_gc() -> None:
    """Exclude the objects of loaded modules from garbage collection, once in each worker.

    Spark's worker runs a full collection after each task. It takes 20 to 40 ms, mostly for objects
    of modules, which never become garbage, and the next task waits for it. Python runs one as
    often on the driver of an idle stream, where Spark passes large JSON.
    """
    gc.collect()
    gc.freeze()


@cache
def keep_freed_memory() -> None:
    """Let the C library keep freed memory in each worker, at most 64 MiB, for the next batch.

    Batches take some MiB. By default glibc maps such blocks anew each time, and then Linux clears
    each of their pages. It stops that for blocks up to the largest one that was freed, at most
    32 MiB. Nothing touches the pages of this one. Other C libraries do not change.

    Source: mallopt(3), M_MMAP_THRESHOLD.
    """
    bytes(_LARGEST_KEPT_BYTES)


def spill_folder() -> str | None:
    """A folder for temporary files of a task: of Spark's, by turns; None for the system's.

    Source: `get_spill_dirs` of `pyspark.shuffle`.
    """
    folders = _local_folders()
    return folders[os.getpid() % len(folders)] if folders else None


def has_session_mark(name: str) -> bool:
    """Whether a process of the driver has set the mark with this name in this session of Spark.

    A mark is an empty file. Spark plans in several Python processes, and ends idle ones. Only they
    use the driver's local folder, and Spark deletes it with the session.
    """
    return any((Path(folder) / _MARK.format(name)).exists() for folder in _local_folders()[:1])


def set_session_mark(name: str) -> bool:
    """Set a mark; returns whether it was not set before. Without a folder no mark is kept."""
    for folder in _local_folders()[:1]:
        try:
            (Path(folder) / _MARK.format(name)).touch(exist_ok=False)  # point: session-marks
        except FileExistsError:
            return False
        except OSError:
            break
    return True


_MARK: Final = "pykafka-{}"


def _local_folders() -> list[str]:
    named = os.environ.get(_LOCAL_FOLDERS, "").split(",")
    return [each for each in named if each and Path(each).is_dir()]


def acknowledge_at_once() -> None:
    """Acknowledge what Spark has sent to this worker, without the delay of Linux.

    Spark sends the command of a task and then its input, both small, over TCP with Nagle's
    algorithm: the input waits for the acknowledgement of the command, which Linux delays by 40 ms.
    The right moment is when the command has arrived, while it is unpickled: readers and writers
    call this then. Unix sockets, and systems without the option, do not change.

    Source: tcp(7), TCP_QUICKACK, which is not permanent.
    """
    option = getattr(socket, "TCP_QUICKACK", None)
    if option is None:
        return
    with contextlib.suppress(OSError):
        for each in _DESCRIPTORS.iterdir():
            _set_if_tcp(int(each.name), option)


def _set_if_tcp(descriptor: int, option: int) -> None:
    with contextlib.suppress(OSError):  # no socket, or no TCP
        sock = socket.socket(fileno=descriptor)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, option, 1)
        finally:
            sock.detach()


def has_unix_sockets(spark_release: str) -> bool:
    """Whether a release of Spark has the setting `UNIX_SOCKETS`, on this system."""
    release = tuple(map(int, spark_release.split(".")[:2]))
    return os.name == "posix" and release >= _FIRST_WITH_UNIX_SOCKETS
