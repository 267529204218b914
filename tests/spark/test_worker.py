"""Garbage collection in a worker after its tasks, and the sockets of workers."""

import gc
import logging
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql.datasource import InputPartition

from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.reading.input_partition import read_partition
from kafka_spark_source.reading.range_reader import RangeReader
from kafka_spark_source.worker import exclude_modules_from_gc, spill_folder, warn_of_tcp_sockets

pytestmark = pytest.mark.core

CONFIG = ClientConfig.from_options({"bootstrap.servers": "localhost:9"})
READER = RangeReader(("value",), fail_on_data_loss=True, poll_timeout_ms=1)


@pytest.fixture(autouse=True)
def _new_worker() -> Iterator[None]:
    gc.unfreeze()
    exclude_modules_from_gc.cache_clear()
    yield
    gc.unfreeze()


def run_a_task() -> None:
    # Spark's own partition of an empty batch.
    assert [*read_partition(READER, CONFIG, InputPartition(None))] == []


def test_the_first_task_excludes_loaded_modules_from_gc() -> None:
    before = len(gc.get_objects())
    run_a_task()
    assert len(gc.get_objects()) < before / 10


def test_later_tasks_exclude_nothing_from_gc() -> None:
    run_a_task()
    made_since: list[object] = []
    run_a_task()
    # Not gc.get_freeze_count(): excluded objects may still be freed by their reference counts.
    assert any(each is made_since for each in gc.get_objects())


@pytest.mark.parametrize(
    ("variable", "release", "warnings"),
    [
        ("PYTHON_WORKER_FACTORY_PORT", "4.3.0", 1),
        ("PYTHON_WORKER_FACTORY_PORT", "4.1.0.dev0", 1),
        ("PYTHON_WORKER_FACTORY_PORT", "4.0.2", 0),
        ("PYTHON_WORKER_FACTORY_SOCK_PATH", "4.3.0", 0),
    ],
)
def test_a_stream_says_once_what_tcp_sockets_cost(
    variable: str,
    release: str,
    warnings: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(variable, "1")
    warn_of_tcp_sockets.cache_clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            warn_of_tcp_sockets(release)
    assert len(caplog.records) == warnings
    assert all("spark.python.unix.domain.socket.enabled" in each.message for each in caplog.records)


# Blocks as a task allocates them: glibc keeps the first by itself only after one of its size.
PAGE_FAULTS = """
import resource
from kafka_spark_source.worker import keep_freed_memory
{call}
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for size in range(1 << 20, 17 << 20, 1 << 20):
    block = b"x" * size
    del block
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults_with(call: str) -> int:
    code = PAGE_FAULTS.format(call=call)
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, timeout=60
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have other rules")
def test_freed_memory_is_used_again() -> None:
    assert page_faults_with("keep_freed_memory()") < page_faults_with("pass") / 4


def test_temporary_files_are_in_a_folder_of_sparks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / "a", tmp_path / "b", tmp_path / "removed"]
    for folder in folders[:2]:
        folder.mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", ",".join(map(str, folders)))
    assert spill_folder() in [str(each) for each in folders[:2]]
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(folders[2]))
    assert spill_folder() is None
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    assert spill_folder() is None
