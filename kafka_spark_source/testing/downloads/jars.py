"""Kafka's jars: downloaded once into the user's cache, and compared with the lock file each time.

The cache has one folder for each set of jars, `<cache>/pyspark-pykafka/<version>/` for a release.
Nothing here starts a broker.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_spark_source.testing.downloads.cache import filled_folder
from kafka_spark_source.testing.downloads.resolvers import Coordinates, available_resolvers, resolve
from kafka_spark_source.testing.errors import JarError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LOCK_FILE = Path(__file__).with_name("jars.lock.json")
_BLOCK = 1 << 20

LockedJars = dict[Coordinates, str]
"""The files of one release and their SHA-256 checksums, as hexadecimal text."""


def find_jars(
    version: str, java: Path, on_progress: Callable[[str], None], lock_file: Path = LOCK_FILE
) -> Path:
    """The folder with Kafka's jars of that version; downloads them if they are not in the cache.

    Raises:
        JarError: As from `find_locked_jars`, which describes the other arguments.
    """
    return find_locked_jars(version, read_lock(lock_file, version), java, on_progress)


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

    def download(fresh: Path) -> None:
        on_progress(f"Kafka's jars ({name}) are not in the cache yet")
        resolve(list(locked), fresh, available_resolvers(java), on_progress)
        verify(fresh, locked)

    file_names = {each.file_name for each in locked}
    folder = filled_folder(
        name, lambda cached: _jar_names(cached) == file_names, download, on_progress
    )
    verify(folder, locked)
    return folder


def read_lock(path: Path, name: str) -> LockedJars:
    """The files in an entry of the lock file: a version of Kafka, or the schema registry.

    Raises:
        JarError: The lock file does not have the entry.
    """
    entries: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    if name not in entries:
        raise JarError(
            f"{path.name} has no files for {name}: run "
            "`python -m kafka_spark_source.testing.downloads.lock`"
        )
    return {Coordinates.parse(text): checksum for text, checksum in entries[name].items()}


def verify(folder: Path, locked: Mapping[Coordinates, str]) -> None:
    """Compares every locked file in `folder` with its checksum.

    Raises:
        JarError: A file is missing or differs; the message names it.
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


def _jar_names(folder: Path) -> set[str]:
    return {jar.name for jar in folder.glob("*.jar")}
