"""The distribution of the schema registry, with a small archive instead of it."""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_spark_source.testing import JarError
from kafka_spark_source.testing.downloads import jars
from kafka_spark_source.testing.downloads.distribution import (
    REGISTRY,
    REGISTRY_ARTIFACT,
    REGISTRY_JAR,
    find_distribution,
    unpack,
)
from kafka_spark_source.testing.folders import cache_folder
from tests.spark.testing.scripts import Maven

JAVA = Path("/no/java")


def member(name: str, **fields: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def archive_of(*members: tarfile.TarInfo) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for each in members:
            tar.addfile(each, io.BytesIO(b"x" * each.size))
    return stream.getvalue()


ARCHIVE = archive_of(member(REGISTRY_JAR, size=3), member("lib/one.jar", size=5))


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maven:
    maven = Maven(tmp_path, monkeypatch)
    (maven.files / REGISTRY_ARTIFACT.file_name).write_bytes(ARCHIVE)
    return maven


@pytest.fixture
def find(maven: Maven, tmp_path: Path) -> Callable[[], Path]:
    """Finds the distribution, with a lock file of ARCHIVE."""
    lock_file = tmp_path / "jars.lock.json"
    checksum = hashlib.sha256(ARCHIVE).hexdigest()
    lock_file.write_text(json.dumps({REGISTRY: {str(REGISTRY_ARTIFACT): checksum}}))
    return lambda: find_distribution(JAVA, lambda _what: None, lock_file)


def files_in(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}


def test_it_is_unpacked_once_and_the_archive_is_not_kept(
    find: Callable[[], Path], maven: Maven
) -> None:
    folder = find()
    assert folder == cache_folder() / REGISTRY
    assert files_in(folder) == {REGISTRY_JAR, "lib/one.jar"}
    assert find() == folder
    assert maven.calls == 1


def test_another_archive_is_neither_unpacked_nor_kept(
    find: Callable[[], Path], maven: Maven
) -> None:
    another = archive_of(member(REGISTRY_JAR, size=4))
    (maven.files / REGISTRY_ARTIFACT.file_name).write_bytes(another)
    with pytest.raises(JarError, match=r"-all\.tar\.gz differs from the lock file: its SHA-256"):
        find()
    assert files_in(cache_folder()) == {f"{REGISTRY}.lock"}


def test_a_folder_without_the_jar_is_replaced(find: Callable[[], Path], maven: Maven) -> None:
    (find() / REGISTRY_JAR).unlink()
    assert files_in(find()) == {REGISTRY_JAR, "lib/one.jar"}
    assert maven.calls == 2


def test_the_lock_file_has_the_distribution() -> None:
    (artifact,) = jars.read_lock(jars.LOCK_FILE, REGISTRY)
    assert artifact == REGISTRY_ARTIFACT


@pytest.mark.parametrize(
    "unsafe",
    [
        member("../outside", size=1),
        member("lib/../../outside", size=1),
        member("link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("link", type=tarfile.LNKTYPE, linkname="../outside"),
        member("device", type=tarfile.CHRTYPE),
    ],
    ids=["parent", "parent of a folder", "symbolic link", "hard link", "device"],
)
def test_an_unsafe_archive_is_refused(unsafe: tarfile.TarInfo, tmp_path: Path) -> None:
    archive = tmp_path / "unsafe.tar.gz"
    archive.write_bytes(archive_of(unsafe))
    folder = tmp_path / "inside" / "folder"
    folder.mkdir(parents=True)
    with pytest.raises(JarError, match=r"unsafe\.tar\.gz cannot be unpacked: "):
        unpack(archive, folder)
    assert files_in(tmp_path) == {"unsafe.tar.gz"}


def test_an_absolute_path_stays_in_the_folder(tmp_path: Path) -> None:
    archive = tmp_path / "absolute.tar.gz"
    archive.write_bytes(archive_of(member("/one.jar", size=1)))
    unpack(archive, tmp_path / "folder")
    assert files_in(tmp_path) == {"absolute.tar.gz", "folder/one.jar"}


@pytest.mark.parametrize("content", [b"", b"no archive", ARCHIVE[: len(ARCHIVE) // 2]])
def test_a_broken_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    archive = tmp_path / "broken.tar.gz"
    archive.write_bytes(content)
    with pytest.raises(JarError, match=r"broken\.tar\.gz cannot be unpacked: "):
        unpack(archive, tmp_path / "folder")


def test_python_without_safe_unpacking_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(tarfile, "data_filter")
    with pytest.raises(JarError, match=r"needs a newer Python: 3\.10\.12"):
        unpack(tmp_path / "archive.tar.gz", tmp_path)
