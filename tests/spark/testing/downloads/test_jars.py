"""The cache of jars and its lock file, with a Maven that copies small files."""

import hashlib
import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_spark_source.testing import JarError
from kafka_spark_source.testing.downloads import jars
from kafka_spark_source.testing.downloads.resolvers import Coordinates
from kafka_spark_source.testing.folders import cache_folder
from tests.spark.testing.scripts import Maven

VERSION = "1.2.3"
CONTENTS = {
    Coordinates("org.example", "one", "1.0"): b"first jar",
    Coordinates("org.example", "two", "2.0"): b"second jar",
}
LOCKED = {each: hashlib.sha256(content).hexdigest() for each, content in CONTENTS.items()}
JAVA = Path("/no/java")


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maven:
    maven = Maven(tmp_path, monkeypatch)
    for coordinates, content in CONTENTS.items():
        (maven.files / coordinates.file_name).write_bytes(content)
    return maven


@pytest.fixture
def find(maven: Maven, tmp_path: Path) -> Callable[[], Path]:
    """Finds the jars of VERSION, with a lock file of CONTENTS."""
    lock_file = tmp_path / "jars.lock.json"
    lock_file.write_text(json.dumps({VERSION: {str(each): sha for each, sha in LOCKED.items()}}))
    return lambda: jars.find_jars(VERSION, JAVA, ignore, lock_file)


def ignore(_what: str) -> None:
    pass


def test_jars_are_resolved_once(find: Callable[[], Path], maven: Maven) -> None:
    first = find()
    assert first == cache_folder() / VERSION
    assert {jar.name for jar in first.iterdir()} == {"one-1.0.jar", "two-2.0.jar"}
    assert find() == first
    assert maven.calls == 1


def test_cache_with_other_jars_is_replaced(find: Callable[[], Path], maven: Maven) -> None:
    folder = find()
    (folder / "one-1.0.jar").unlink()
    (folder / "zero-0.9.jar").write_bytes(b"")
    find()
    assert {jar.name for jar in folder.iterdir()} == {"one-1.0.jar", "two-2.0.jar"}
    assert maven.calls == 2


def test_error_names_a_changed_jar(find: Callable[[], Path]) -> None:
    changed = find() / "two-2.0.jar"
    changed.write_bytes(b"something else")
    with pytest.raises(JarError, match=r"two-2\.0\.jar differs from the lock file"):
        find()


def test_wrong_download_is_not_cached(find: Callable[[], Path], maven: Maven) -> None:
    (maven.files / "one-1.0.jar").write_bytes(b"not the first jar")
    with pytest.raises(JarError, match=r"one-1\.0\.jar differs"):
        find()
    assert not (cache_folder() / VERSION).exists()
    assert not list(cache_folder().glob(".*")), "the work folder is gone as well"


def test_error_names_a_missing_jar(tmp_path: Path) -> None:
    with pytest.raises(JarError, match=r"one-1\.0\.jar is missing"):
        jars.verify(tmp_path, {Coordinates("org.example", "one", "1.0"): "00"})


def test_each_set_of_jars_has_its_own_folder(find: Callable[[], Path], maven: Maven) -> None:
    folder = jars.find_locked_jars("others", LOCKED, JAVA, ignore)
    assert folder == cache_folder() / "others"
    assert find() != folder
    assert maven.calls == 2


def test_version_that_the_lock_file_lacks() -> None:
    with pytest.raises(JarError, match=r"has no files for 9\.9: run `python -m"):
        jars.find_jars("9.9", JAVA, ignore)


def test_parallel_processes_resolve_once(find: Callable[[], Path], maven: Maven) -> None:
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=find) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0, 0]
    assert maven.calls == 1
