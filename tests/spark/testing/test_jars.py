"""The cache of jars and its lock file, with a resolver that writes small files."""

import hashlib
import json
import multiprocessing
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kafka_spark_source.testing import JarError, jars
from kafka_spark_source.testing.folders import cache_folder
from kafka_spark_source.testing.resolvers import Coordinates

VERSION = "1.2.3"
CONTENTS = {
    Coordinates("org.example", "one", "1.0"): b"first jar",
    Coordinates("org.example", "two", "2.0"): b"second jar",
}
JAVA = Path("/no/java")


class Resolving:
    """A fake `resolve` that counts calls, and appends a line for each to a shared file."""

    def __init__(self, calls: Path, contents: dict[Coordinates, bytes] | None = None) -> None:
        self._calls = calls
        self._contents = CONTENTS if contents is None else contents

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
        with self._calls.open("a") as stream:
            stream.write("call\n")
        for coordinates, content in self._contents.items():
            (target / coordinates.file_name).write_bytes(content)


@pytest.fixture
def resolving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Resolving:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    checksums = {str(each): hashlib.sha256(text).hexdigest() for each, text in CONTENTS.items()}
    lock_file = tmp_path / "jars.lock.json"
    lock_file.write_text(json.dumps({VERSION: checksums}))
    monkeypatch.setattr(jars, "LOCK_FILE", lock_file)
    resolving = Resolving(tmp_path / "calls")
    monkeypatch.setattr(jars, "resolve", resolving)
    return resolving


def find() -> Path:
    return jars.find_jars(VERSION, JAVA, lambda _what: None)


def test_jars_are_resolved_once(resolving: Resolving) -> None:
    first = find()
    assert first == cache_folder() / VERSION
    assert {jar.name for jar in first.iterdir()} == {"one-1.0.jar", "two-2.0.jar"}
    assert find() == first
    assert resolving.count == 1


def test_cache_with_other_jars_is_replaced(resolving: Resolving) -> None:
    folder = find()
    (folder / "one-1.0.jar").unlink()
    (folder / "zero-0.9.jar").write_bytes(b"")
    find()
    assert {jar.name for jar in folder.iterdir()} == {"one-1.0.jar", "two-2.0.jar"}
    assert resolving.count == 2


def test_error_names_a_changed_jar(resolving: Resolving) -> None:
    changed = find() / "two-2.0.jar"
    changed.write_bytes(b"something else")
    with pytest.raises(JarError, match=r"two-2\.0\.jar differs from the lock file"):
        find()


def test_wrong_download_is_not_cached(
    resolving: Resolving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {**CONTENTS, Coordinates("org.example", "one", "1.0"): b"not the first jar"}
    monkeypatch.setattr(jars, "resolve", Resolving(tmp_path / "calls", wrong))
    with pytest.raises(JarError, match=r"one-1\.0\.jar differs"):
        find()
    assert not (cache_folder() / VERSION).exists()
    assert not list(cache_folder().glob(".*")), "the work folder is gone as well"


def test_error_names_a_missing_jar(tmp_path: Path) -> None:
    with pytest.raises(JarError, match=r"one-1\.0\.jar is missing"):
        jars.verify(tmp_path, {Coordinates("org.example", "one", "1.0"): "00"})


def test_each_set_of_jars_has_its_own_folder(resolving: Resolving) -> None:
    locked = {each: hashlib.sha256(text).hexdigest() for each, text in CONTENTS.items()}
    folder = jars.find_locked_jars("others", locked, JAVA, lambda _what: None)
    assert folder == cache_folder() / "others"
    assert find() != folder
    assert resolving.count == 2


def test_version_that_the_lock_file_lacks(resolving: Resolving) -> None:
    with pytest.raises(JarError, match=r"has no files for 9\.9: run `python -m"):
        jars.find_jars("9.9", JAVA, lambda _what: None)


def test_parallel_processes_resolve_once(resolving: Resolving) -> None:
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=find) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0, 0]
    assert resolving.count == 1
