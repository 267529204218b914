"""Tables that were dropped are filled anew beside the query, on Delta and on Iceberg."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.tables import TableError
from kafka_spark_source.tables.progress import State
from kafka_spark_source.tables.target import Target
from kafka_spark_source.tables.writer import TableWriter, Work
from kafka_spark_source.testing import KafkaCluster
from tests.change_data.lake import NEWEST
from tests.change_data.shop import Shop, orders, rows_of

pytestmark = [pytest.mark.integration, pytest.mark.spark]


@pytest.fixture(params=NEWEST)
def shop(
    request: pytest.FixtureRequest, spark: SparkSession, kafka_cluster: KafkaCluster, tmp_path: Path
) -> Iterator[Shop]:
    """A shop without topics."""
    with closing(Shop(spark, kafka_cluster.bootstrap_servers, request.param, tmp_path)) as made:
        yield made


def drop(shop: Shop, topic: str) -> None:
    shop.spark.sql(f"DROP TABLE {shop.name(topic)}")


def test_a_table_that_was_dropped_gets_all_records_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = shop.topic("a"), shop.topic("b")
    for topic in (a, b):
        shop.send(topic, orders(range(40)))
    shop.run()
    drop(shop, a)
    for topic in (a, b):
        shop.send(topic, orders(range(40, 45)))
    slices: list[int] = []
    real = TableWriter.write

    def write(self: TableWriter, spark: SparkSession, topic: str, work: Work) -> None:
        real(self, spark, topic, work)
        if work.is_backfill:
            slices.append(work.batch_id)
            if slices == [0, 1]:
                raise TableError("the driver dies after the commit")

    monkeypatch.setattr(TableWriter, "write", write)
    small: dict[str, Any] = {"options": {"maxOffsetsPerTrigger": "15"}}
    progress = shop.run(backfill=[a], on_error="suspend", **small)
    assert progress[a].state is State.FILLING
    assert 0 < progress[a].to_fill < 40
    assert "the driver dies" in progress[a].reason
    assert shop.rows(b) == rows_of(range(45))
    shop.send(a, orders(range(45, 50)))
    # As a job is that is started again with the same arguments.
    for _ in range(2):
        progress = shop.run(backfill=[a], **small)
        assert shop.rows(a) == rows_of(range(50))
    assert slices == [0, 1, 0, 1, 2]
    assert len({*shop.rows(a, "_kafka_partition", "_kafka_offset")}) == 50


def test_the_files_of_tables(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    topics = [shop.topic(each) for each in "ab"]
    for topic in topics:
        shop.send(topic, orders(range(20)))
    running = shop.tables().start(shop.checkpoint, trigger={"availableNow": True})
    assert running.awaitTermination(300)
    sizes = running.sizes()
    for topic in topics:
        name = shop.name(topic)
        seen = {
            "delta": f"SELECT DISTINCT _metadata.file_path, _metadata.file_size FROM {name}",
            "iceberg": f"SELECT file_path, file_size_in_bytes FROM {name}.files",
        }
        files = shop.spark.sql(seen[shop.provider]).collect()
        assert sizes[topic] == (len(files), sum(size for _, size in files))
    running.show(files=True)
    assert "MB a file" in capsys.readouterr().out


def test_a_shorter_topic_of_the_same_name_is_read_once(shop: Shop) -> None:
    topic = shop.topic("a", partitions=1)
    shop.send(topic, orders(range(60)))
    tolerant: dict[str, Any] = {"options": {"failOnDataLoss": "false"}}
    shop.run(**tolerant)
    drop(shop, topic)
    shop.recreate("a")
    shop.send(topic, orders(range(100, 120)))
    shop.run(backfill=[topic], **tolerant)
    shop.send(topic, orders(range(120, 200)))
    shop.run(backfill=[topic], **tolerant)
    assert shop.rows(topic) == rows_of(range(100, 200))


def test_the_newest_record_of_each_key(shop: Shop) -> None:
    topic = shop.topic("customers")
    upsert = {"rows": "upsert", "options": {"key.format": "raw"}}
    shop.send(topic, [*orders(range(5)), ("1", {"id": 1, "name": "new"}), ("2", None)])
    shop.run(**upsert)
    drop(shop, topic)
    shop.send(topic, [("3", None)])
    shop.run(backfill=[topic], **upsert)
    live = {"where": "_tombstone IS NOT TRUE"}
    assert shop.rows(topic, **live) == sorted([(0, "name 0"), (1, "new"), (4, "name 4")], key=repr)


def test_a_table_that_cannot_be_filled_fails_the_run(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = shop.topic("a")
    shop.send(topic, orders(range(3)))
    shop.run()
    drop(shop, topic)

    def prepare(*_: object) -> None:
        raise TableError("the catalog refuses")

    monkeypatch.setattr(Target, "prepare", prepare)
    running = shop.tables().start(
        shop.checkpoint, trigger={"processingTime": "1 second"}, backfill=[topic]
    )
    with pytest.raises(TableError, match=r"could not be filled anew: .*the catalog refuses"):
        running.awaitTermination(100)
    monkeypatch.undo()
    shop.run()
    assert shop.rows(topic) == rows_of(range(3))


def test_nothing_is_written_after_stop(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = shop.topic("a", partitions=1)
    shop.send(topic, orders(range(3)))
    shop.run()
    drop(shop, topic)
    begun, written = Event(), Event()
    real = TableWriter.write

    def write(self: TableWriter, spark: SparkSession, topic: str, work: Work) -> None:
        begun.set()
        real(self, spark, topic, work)
        written.set()

    monkeypatch.setattr(TableWriter, "write", write)
    running = shop.tables().start(
        shop.checkpoint, trigger={"processingTime": "1 minute"}, backfill=[topic]
    )
    assert begun.wait(300)
    running.stop()
    assert written.is_set()
    assert shop.rows(topic) == rows_of(range(3))


def test_a_topic_that_the_query_does_not_read(shop: Shop) -> None:
    topic = shop.topic("orders")
    shop.send(topic, orders([1]))
    shop.run()
    with pytest.raises(KafkaConfigError, match=r"did you mean '.*\.orders'"):
        shop.run(backfill=[f"{topic}s"])
