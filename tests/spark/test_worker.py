"""What a task leaves behind in the worker that it ran in."""

import gc
from collections.abc import Iterator

import pytest
from pyspark.sql.datasource import InputPartition

from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.reading.batch_reader import read_partition
from kafka_spark_source.reading.range_reader import RangeReader
from kafka_spark_source.worker import spare_modules_from_gc

CONFIG = ClientConfig.from_options({"bootstrap.servers": "localhost:9"})
READER = RangeReader(("value",), fail_on_data_loss=True, poll_timeout_ms=1)


@pytest.fixture(autouse=True)
def _new_worker() -> Iterator[None]:
    gc.unfreeze()
    spare_modules_from_gc.cache_clear()
    yield
    gc.unfreeze()


def run_a_task() -> None:
    # Spark's own for a batch of nothing.
    assert [*read_partition(READER, CONFIG, InputPartition(None))] == []


def test_a_first_task_leaves_little_for_gc_to_look_through() -> None:
    before = len(gc.get_objects())
    run_a_task()
    assert len(gc.get_objects()) < before / 10


def test_later_tasks_keep_nothing_from_gc() -> None:
    run_a_task()
    made_since: list[object] = []
    run_a_task()
    # Not by gc.get_freeze_count(): what was spared may still end, by its reference count.
    assert any(looked_through is made_since for looked_through in gc.get_objects())
