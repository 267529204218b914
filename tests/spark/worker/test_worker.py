"""Garbage collection in a worker after its tasks, and the sockets of workers."""

import fcntl
import gc
import pickle
import platform
import socket
import subprocess
import sys
import termios
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql.datasource import InputPartition

from kafka_protocol.arrow_io.row_writer import RowWriter
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.options.partitioners import DEFAULT
from kafka_spark_source.options.read import parse_batch_options, parse_stream_options
from kafka_spark_source.reading.batch_reader import KafkaBatchReader
from kafka_spark_source.reading.input_partition import read_partition
from kafka_spark_source.reading.range_reader import RangeReader
from kafka_spark_source.schema import source_schema
from kafka_spark_source.streaming.stream_reader import KafkaStreamReader
from kafka_spark_source.worker.worker import (
    exclude_modules_from_gc,
    has_session_mark,
    set_session_mark,
    spill_folder,
)
from kafka_spark_source.writing.batch_writer import KafkaBatchWriter
from kafka_spark_source.writing.delivery import AtLeastOnce
from kafka_spark_source.writing.stream_writer import KafkaStreamWriter
from tests.spark.writing.driver import COLUMNS

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


class Connection(NamedTuple):
    """The two ends of a TCP connection on which the receiver delays its acknowledgements."""

    sender: socket.socket
    receiver: socket.socket

    def unacknowledged(self) -> int:
        """The bytes that the sender keeps because they may have to be sent again."""
        number = array("i", [0])
        fcntl.ioctl(self.sender, termios.TIOCOUTQ, number)
        return number[0]


@pytest.fixture
def connection() -> Iterator[Connection]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()
    with sender, receiver:
        # Linux delays acknowledgements once both sides have sent something by turns.
        for _ in range(20):
            sender.sendall(b"request")
            receiver.recv(100)
            receiver.sendall(b"response")
            sender.recv(100)
        yield Connection(sender, receiver)


READ_OPTIONS = {"kafka.bootstrap.servers": "localhost:9", "subscribe": "orders"}
SCHEMA = source_schema(include_headers=False)
DELIVERY = AtLeastOnce(RowWriter(COLUMNS, "orders", DEFAULT, CONFIG))
OF_SPARK = {
    "batch reader": KafkaBatchReader(parse_batch_options(READ_OPTIONS), CONFIG, SCHEMA),
    "stream reader": KafkaStreamReader(parse_stream_options(READ_OPTIONS), CONFIG, SCHEMA),
    "batch writer": KafkaBatchWriter(DELIVERY),
    "stream writer": KafkaStreamWriter(DELIVERY),
}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such option")
@pytest.mark.parametrize("name", OF_SPARK)
def test_what_has_arrived_is_acknowledged_with_the_command(
    name: str, connection: Connection
) -> None:
    pickled = pickle.dumps(OF_SPARK[name])
    waited = []
    for _ in range(10):
        connection.sender.sendall(b"command")
        connection.receiver.recv(100)
        waited.append(connection.unacknowledged())
        pickle.loads(pickled)
        assert connection.unacknowledged() == 0
        connection.receiver.sendall(b"response")
        connection.sender.recv(100)
    # Without it, some would have been acknowledged later.
    assert any(waited)


def test_marks_of_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},{tmp_path / 'removed'}")
    assert not has_session_mark("a")
    assert set_session_mark("a")
    assert has_session_mark("a")
    assert not set_session_mark("a")
    assert set_session_mark("b")


def test_without_a_folder_no_mark_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "removed"))
    assert set_session_mark("a")
    assert set_session_mark("a")
    assert not has_session_mark("a")


def test_a_folder_that_cannot_be_written_keeps_no_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_named: object) -> None:
        raise PermissionError

    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    monkeypatch.setattr(Path, "touch", refuse)
    assert set_session_mark("a")
    assert set_session_mark("a")


# Blocks as a task allocates them: glibc keeps the first by itself only after one of its size.
PAGE_FAULTS = """
import resource
from kafka_spark_source.schema import source_schema
from kafka_spark_source.streaming.stream_reader import KafkaStreamReader
from kafka_spark_source.worker.worker import keep_freed_memory
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
