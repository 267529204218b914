"""The distribution of the schema registry, with a small archive instead of it."""

import hashlib
import io
import json
import multiprocessing
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kafka_spark_source.testing import JarError, distribution, jars
from kafka_spark_source.testing.distribution import (
    REGISTRY,
    REGISTRY_ARTIFACT,
    REGISTRY_JAR,
    find_distribution,
    unpack,
)
from kafka_spark_source.testing.folders import cache_folder
from kafka_spark_source.testing.resolvers import Coordinates

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


class Resolving:
    """A fake `resolve` that writes an archive, and appends a line for each call to a file."""

    def __init__(self, calls: Path) -> None:
        self._calls = calls
        self.archive = ARCHIVE

    @property
    def count(self) -> int:
        return len(self._calls.read_text().splitlines()) if self._calls.exists() else 0

    def __call__(
        self,
        artifacts: Sequence[Coordinates],
        target: Path,
        resolvers: object,
        on_progress: Callable[[str], None],
    ) -> None:
        assert list(artifacts) == [REGISTRY_ARTIFACT]
        with self._calls.open("a") as stream:
            stream.write("call\n")
        (target / REGISTRY_ARTIFACT.file_name).write_bytes(self.archive)


@pytest.fixture
def resolving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Resolving:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lock_file = tmp_path / "jars.lock.json"
    checksum = hashlib.sha256(ARCHIVE).hexdigest()
    lock_file.write_text(json.dumps({REGISTRY: {str(REGISTRY_ARTIFACT): checksum}}))
    monkeypatch.setattr(distribution, "LOCK_FILE", lock_file)
    resolving = Resolving(tmp_path / "calls")
    monkeypatch.setattr(distribution, "resolve", resolving)
    return resolving


def find() -> Path:
    return find_distribution(JAVA, lambda _what: None)


def files_in(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}


def test_it_is_unpacked_once_and_the_archive_is_not_kept(resolving: Resolving) -> None:
    folder = find()
    assert folder == cache_folder() / REGISTRY
    assert files_in(folder) == {REGISTRY_JAR, "lib/one.jar"}
    assert find() == folder
    assert resolving.count == 1


def test_another_archive_is_neither_unpacked_nor_kept(resolving: Resolving) -> None:
    resolving.archive = archive_of(member(REGISTRY_JAR, size=4))
    with pytest.raises(JarError, match=r"-all\.tar\.gz differs from the lock file: its SHA-256"):
        find()
    assert files_in(cache_folder()) == {f"{REGISTRY}.lock"}


def test_a_folder_without_the_jar_is_replaced(resolving: Resolving) -> None:
    (find() / REGISTRY_JAR).unlink()
    assert files_in(find()) == {REGISTRY_JAR, "lib/one.jar"}
    assert resolving.count == 2


def test_parallel_processes_download_once(resolving: Resolving) -> None:
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=find) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0, 0]
    assert resolving.count == 1


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
