"""Folders of the user's cache. A folder is complete or absent; one process at a time fills it.

Nothing here knows the content of a folder.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_spark_source.testing.folders import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def filled_folder(
    name: str,
    is_complete: Callable[[Path], bool],
    fill: Callable[[Path], None],
    on_progress: Callable[[str], None],
) -> Path:
    """The folder `name` of the cache, after `fill` if it is missing or not complete.

    Args:
        name: `<cache>/<name>/` is the folder, and `<cache>/<name>.lock` its lock.
        is_complete: Whether a folder has everything; otherwise it is replaced.
        fill: Fills a new, empty folder, which is renamed when this returns.
        on_progress: Called with a short text before each slow step.
    """
    folder = cache_folder() / name
    if is_complete(folder):
        return folder
    cache_folder().mkdir(parents=True, exist_ok=True)
    with _held(cache_folder() / f"{name}.lock", on_progress):
        if not is_complete(folder):
            _replace(folder, fill)
    return folder


def _replace(folder: Path, fill: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as work:
        fresh = Path(work) / "fresh"
        fresh.mkdir()
        fill(fresh)
        if folder.exists():
            shutil.move(folder, Path(work) / "replaced")
        fresh.rename(folder)


@contextmanager
def _held(lock: Path, on_progress: Callable[[str], None]) -> Iterator[None]:
    with lock.open("w", encoding="utf-8") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_progress("another process is downloading the same files: waiting for it")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
