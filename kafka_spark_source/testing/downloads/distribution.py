"""The distribution of the schema registry: downloaded and unpacked once, into the user's cache.

The archive is compared with the lock file before it is unpacked, and not kept. Nothing here starts
a registry.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_spark_source.testing.downloads.cache import filled_folder
from kafka_spark_source.testing.downloads.jars import LOCK_FILE, read_lock, verify
from kafka_spark_source.testing.downloads.resolvers import Coordinates, available_resolvers, resolve
from kafka_spark_source.testing.errors import JarError

if TYPE_CHECKING:
    from collections.abc import Callable

REGISTRY_VERSION = "2.6.13.Final"
"""The version of Apicurio Registry, which has the REST API of Confluent's Schema Registry."""

REGISTRY = f"apicurio-registry-{REGISTRY_VERSION}"
"""The name of its entry in the lock file, and of its folder in the cache."""

REGISTRY_ARTIFACT = Coordinates(
    "io.apicurio", "apicurio-registry-app", REGISTRY_VERSION, extension="tar.gz", classifier="all"
)
REGISTRY_JAR = f"{REGISTRY_ARTIFACT.artifact}-{REGISTRY_VERSION}-runner.jar"
"""The jar in its folder that `java -jar` runs; the jars in `lib/` are on its class path."""


def find_distribution(
    java: Path, on_progress: Callable[[str], None], lock_file: Path = LOCK_FILE
) -> Path:
    """The folder with the schema registry; downloads it if it is not in the cache.

    Args:
        java: Runs Ivy if there is no Maven.
        on_progress: Called with a short text before each slow step.
        lock_file: It has the checksum of the archive.

    Raises:
        JarError: It cannot be downloaded or unpacked, or its checksum differs.
    """

    def download(fresh: Path) -> None:
        on_progress(f"the schema registry ({REGISTRY}, 142 MB) is not in the cache yet")
        locked = read_lock(lock_file, REGISTRY)
        resolve(list(locked), fresh, available_resolvers(java), on_progress)
        verify(fresh, locked)
        for artifact in locked:
            archive = fresh / artifact.file_name
            unpack(archive, fresh)
            archive.unlink()

    return filled_folder(
        REGISTRY, lambda folder: (folder / REGISTRY_JAR).is_file(), download, on_progress
    )


def unpack(archive: Path, folder: Path) -> None:
    """Unpacks a tar archive; no file of it can be outside `folder`, or a device.

    Raises:
        JarError: The archive is broken or unsafe, or this Python is too old to unpack it safely.
    """
    # PEP 706: a security fix, so not every 3.10 and 3.11 has it.
    if not hasattr(tarfile, "data_filter"):
        raise JarError(f"{archive.name} needs a newer Python: 3.10.12, 3.11.4 or 3.12")
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise JarError(f"{archive.name} cannot be unpacked: {error}") from error
