"""Kafka's jars: downloaded once into the user's cache, and compared with the lock file each time.

The cache has one folder for each set of jars, `<cache>/pyspark-pykafka/<version>/` for a release.
A rename creates the folder when all its jars are complete and checked; a file lock prevents
parallel downloads. Nothing here starts a broker.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_spark_source.testing.errors import JarError
from kafka_spark_source.testing.folders import cache_folder
from kafka_spark_source.testing.resolvers import Coordinates, available_resolvers, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

LOCK_FILE = Path(__file__).with_name("jars.lock.json")
_BLOCK = 1 << 20

LockedJars = dict[Coordinates, str]
"""The jars of one release and their SHA-256 checksums, as hexadecimal text."""


def find_jars(version: str, java: Path, on_progress: Callable[[str], None]) -> Path:
    """The folder with Kafka's jars of that version; downloads them if they are not in the cache.

    Raises:
        JarError: As from `find_locked_jars`, which describes the other arguments.
    """
    return find_locked_jars(version, read_lock(LOCK_FILE, version), java, on_progress)


def find_locked_jars(
    name: str, locked: LockedJars, java: Path, on_progress: Callable[[str], None]
) -> Path:
    """The folder `name` of the cache with exactly these jars; downloads them if needed.

    Args:
        name: Each name has one set of jars.
        locked: The jars and their checksums.
        java: Runs Ivy if there is no Maven.
        on_progress: Called with a short text before each slow step.

    Raises:
        JarError: The jars cannot be downloaded, or a checksum differs.
    """
    folder = cache_folder() / name
    if _holds_exactly(folder, locked):
        verify(folder, locked)
        return folder
    cache_folder().mkdir(parents=True, exist_ok=True)
    with _held(cache_folder() / f"{name}.lock", on_progress):
        if not _holds_exactly(folder, locked):
            _fill(folder, locked, java, on_progress)
    verify(folder, locked)
    return folder


def read_lock(path: Path, version: str) -> LockedJars:
    """The jars of a version in the lock file.

    Raises:
        JarError: The file does not have the version.
    """
    releases: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    if version not in releases:
        raise JarError(
            f"{path.name} has no jars for Kafka {version}: "
            "run `python -m kafka_spark_source.testing.lock`"
        )
    return {Coordinates.parse(name): checksum for name, checksum in releases[version].items()}


def verify(folder: Path, locked: Mapping[Coordinates, str]) -> None:
    """Compares every locked jar in `folder` with its checksum.

    Raises:
        JarError: A jar is missing or differs; the message names it.
    """
    for coordinates, checksum in locked.items():
        jar = folder / coordinates.file_name
        if not jar.is_file():
            raise JarError(f"{jar} is missing: remove {folder} and start again")
        actual = sha256(jar)
        if actual != checksum:
            raise JarError(
                f"{jar} differs from the lock file: its SHA-256 is {actual}, not {checksum}; "
                f"remove {folder} and start again"
            )


def sha256(path: Path) -> str:
    """The file's SHA-256 as hexadecimal text."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _holds_exactly(folder: Path, locked: Mapping[Coordinates, str]) -> bool:
    """Whether the folder has exactly the locked file names; otherwise it is replaced."""
    return {jar.name for jar in folder.glob("*.jar")} == {each.file_name for each in locked}


def _fill(folder: Path, locked: LockedJars, java: Path, on_progress: Callable[[str], None]) -> None:
    on_progress(f"Kafka's jars ({folder.name}) are not in the cache yet")
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as work:
        fresh = Path(work) / "jars"
        fresh.mkdir()
        resolve(list(locked), fresh, available_resolvers(java), on_progress)
        verify(fresh, locked)
        if folder.exists():
            shutil.move(folder, Path(work) / "replaced")
        fresh.rename(folder)


@contextmanager
def _held(lock: Path, on_progress: Callable[[str], None]) -> Iterator[None]:
    with lock.open("w", encoding="utf-8") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_progress("another process is downloading these jars: waiting for it")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
