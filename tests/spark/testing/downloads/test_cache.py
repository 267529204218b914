"""Folders of the cache; `test_jars.py` and `test_distribution.py` have their contents."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from kafka_spark_source.testing.downloads.cache import filled_folder
from kafka_spark_source.testing.folders import cache_folder


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def is_complete(folder: Path) -> bool:
    return (folder / "last").exists()


def fill(fresh: Path) -> None:
    (fresh / "last").touch()


def ignore(_what: str) -> None:
    pass


def test_a_folder_that_is_not_complete_is_replaced() -> None:
    folder = cache_folder() / "name"
    folder.mkdir(parents=True)
    (folder / "left over").touch()
    assert filled_folder("name", is_complete, fill, ignore) == folder
    assert [each.name for each in folder.iterdir()] == ["last"]


def test_a_complete_folder_is_kept() -> None:
    folder = filled_folder("name", is_complete, fill, ignore)
    (folder / "last").write_text("first")
    filled_folder("name", is_complete, fill, ignore)
    assert (folder / "last").read_text() == "first"


def test_a_failure_leaves_no_folder() -> None:
    def fail(fresh: Path) -> None:
        fill(fresh)
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        filled_folder("name", is_complete, fail, ignore)
    assert [each.name for each in cache_folder().iterdir()] == ["name.lock"]


def test_the_second_call_waits_for_the_first() -> None:
    second_waits = threading.Event()

    def never(_fresh: Path) -> None:
        raise AssertionError("the first call fills the folder")

    def on_progress(what: str) -> None:
        assert what == "another process is downloading the same files: waiting for it"
        second_waits.set()

    with ThreadPoolExecutor() as threads:
        second: list[Future[Path]] = []

        def fill_slowly(fresh: Path) -> None:
            second.append(threads.submit(filled_folder, "name", is_complete, never, on_progress))
            assert second_waits.wait(30)
            fill(fresh)

        first = filled_folder("name", is_complete, fill_slowly, ignore)
        assert second[0].result(30) == first
