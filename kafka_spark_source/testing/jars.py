"""Kafka's jars: resolved once into the user's cache, and checked against the lock file each time.

The cache holds one folder for each set of jars, `<cache>/pyspark-pykafka/<version>/` for a release.
A folder appears there by one rename, when all its jars are in it and checked; a file lock keeps
processes that start at once from doing it twice. Nothing here starts a broker.
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
    """The folder with Kafka's jars of that version, resolved first where it is not in the cache.

    Args:
        version: One of `releases.RELEASES`.
        java: Runs Ivy where there is no Maven.
        on_progress: Told what takes long.

    Raises:
        JarError: The jars cannot be resolved, or one is not what the lock file says.
    """
    return find_locked_jars(version, read_lock(LOCK_FILE, version), java, on_progress)


def find_locked_jars(
    name: str, locked: LockedJars, java: Path, on_progress: Callable[[str], None]
) -> Path:
    """The folder `name` of the cache with exactly these jars, resolved first where it is not there.

    Args:
        name: What the folder is called; of one name there is one set of jars.
        locked: The jars and their checksums.
        java: Runs Ivy where there is no Maven.
        on_progress: Told what takes long.

    Raises:
        JarError: The jars cannot be resolved, or one is not what its checksum says.
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
    """What the lock file says about a version.

    Raises:
        JarError: The file knows nothing of it.
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
        JarError: One is missing or differs; the message names it.
    """
    for coordinates, checksum in locked.items():
        jar = folder / coordinates.file_name
        if not jar.is_file():
            raise JarError(f"{jar} is missing: remove {folder} and start again")
        actual = sha256(jar)
        if actual != checksum:
            raise JarError(
                f"{jar} is not the jar that is locked: its SHA-256 is {actual}, not "
                f"{checksum}; remove {folder} and start again"
            )


def sha256(path: Path) -> str:
    """The file's SHA-256 as hexadecimal text."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _holds_exactly(folder: Path, locked: Mapping[Coordinates, str]) -> bool:
    """Whether the names are right; a folder of another lock file's set is replaced, not used."""
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
            on_progress("another process is fetching these jars: waiting for it")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
