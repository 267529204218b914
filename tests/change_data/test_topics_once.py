"""What readers of docs/topics-to-tables.md proved: lost, repeated and wrong rows, leaks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from kafka_spark_source.tables.micro_batch import TablesOfMicroBatch
from kafka_spark_source.tables.progress import State
from kafka_spark_source.testing import KafkaCluster
from tests.change_data.lake import NEWEST
from tests.change_data.shop import Key, Shop, orders, rows_of

pytestmark = [pytest.mark.integration, pytest.mark.spark]

LIVE = "_tombstone IS NOT TRUE"


@pytest.fixture(params=NEWEST)
def shop(
    request: pytest.FixtureRequest, spark: SparkSession, kafka_cluster: KafkaCluster, tmp_path: Path
) -> Iterator[Shop]:
    """A shop without topics."""
    with closing(Shop(spark, kafka_cluster.bootstrap_servers, request.param, tmp_path)) as made:
        yield made


def refuse(shop: Shop, topic: str, owner: str = "other") -> None:
    """Let writes to a topic's table fail, or with its own name go on."""
    name = shop.name(topic)
    shop.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('pykafka.topic' = '{owner}')")


def named(*names: str) -> list[tuple[Key, Any]]:
    """Records of one key."""
    return [("k", {"id": 1, "name": each}) for each in names]


def test_a_broken_record_does_not_hide_a_good_one_of_its_key(shop: Shop) -> None:
    topic = shop.topic("a", partitions=1)
    shop.send(topic, [*named("good"), ("k", b"{broken")])
    shop.run(rows="upsert", topic_options={topic: {"mode": "DROPMALFORMED"}})
    assert shop.rows(topic, where=LIVE) == [(1, "good")]


def test_keys_order_and_history_of_all_records(shop: Shop) -> None:
    by_name, by_value, history = (shop.topic(each, partitions=1) for each in "abc")
    shop.send(by_name, named("ann", "bob"))
    shop.send(by_value, named("b", "a"))
    shop.send(history, named("v1", "v2", "v3"))
    shop.run(
        rows="upsert",
        keys={by_name: ["name"]},
        merge_options={by_value: {"sequence_by": "name"}, history: {"history": True}},
    )
    assert shop.rows(by_name, where=LIVE) == [(1, "ann"), (1, "bob")]
    assert shop.rows(by_value, where=LIVE) == [(1, "b")]
    assert shop.rows(history, "name", "current") == [("v1", False), ("v2", False), ("v3", True)]


def test_a_field_that_steers_a_merge_is_refused(shop: Shop) -> None:
    topic = shop.topic("a")
    shop.send(topic, orders([1]))
    schema = "id bigint, name string, _unavailable array<string>"
    options = {topic: {"value.schema": schema}}
    progress = shop.run(rows="upsert", topic_options=options, on_error="suspend")
    assert "have a field _unavailable" in progress[topic].reason


def test_a_late_write_that_was_cut_off_is_not_repeated(shop: Shop) -> None:
    topic, other = shop.topic("a"), shop.topic("b")
    shop.send(topic, orders(range(5)))
    shop.run()
    refuse(shop, topic)
    shop.send(topic, orders(range(5, 10)))
    shop.run(on_error="suspend")
    state = Path(shop.checkpoint, "pykafka-tables")
    shutil.copytree(state, state.with_name("before"))
    refuse(shop, topic, topic)
    shop.send(other, orders([1]))
    shop.run(on_error="suspend")
    assert shop.rows(topic) == rows_of(range(10))
    # As if the driver had been killed before it wrote the new state.
    shutil.rmtree(state)
    shutil.move(state.with_name("before"), state)
    refuse(shop, topic)
    shop.send(topic, orders(range(10, 13)))
    shop.run(on_error="suspend")
    refuse(shop, topic, topic)
    shop.run(on_error="suspend")
    assert shop.rows(topic) == rows_of(range(13))


def test_a_late_write_at_the_start_is_not_repeated_with_its_micro_batch(shop: Shop) -> None:
    topic = shop.topic("a")
    shop.send(topic, orders(range(5)))
    shop.run()
    refuse(shop, topic)
    shop.send(topic, orders(range(5, 10)))
    shop.run(on_error="suspend")
    # The driver was killed after it wrote the state, before Spark took the micro-batch for done.
    shop.forget_last_commit()
    refuse(shop, topic, topic)
    shop.run(on_error="suspend")
    assert shop.rows(topic) == rows_of(range(10))


def test_a_checkpoint_that_is_older_than_a_table_is_refused(shop: Shop) -> None:
    topic = shop.topic("a")
    for numbers in (range(5), range(5, 10), range(10, 15)):
        shop.send(topic, orders(numbers))
        shop.run()
    shop.forget_last_micro_batch()
    shop.send(topic, orders(range(15, 20)))
    with pytest.raises(StreamingQueryException, match="with other offsets, and the checkpoint is"):
        shop.run()
    assert shop.rows(topic) == rows_of(range(15))


def test_a_suspended_table_that_is_ahead_gets_only_what_it_lacks(shop: Shop) -> None:
    """A backup of the checkpoint, three micro-batches old: the number of the table's is passed."""
    topic = shop.topic("a")
    shop.send(topic, orders(range(5)))
    shop.run()
    backup = Path(f"{shop.checkpoint}-backup")
    shutil.copytree(shop.checkpoint, backup)
    for numbers in (range(5, 10), range(10, 15), range(15, 20)):
        shop.send(topic, orders(numbers))
        shop.run()
    shutil.rmtree(shop.checkpoint)
    shutil.copytree(backup, shop.checkpoint)
    for number in range(20, 26):
        shop.send(topic, orders([number]))
        shop.run(on_error="suspend")
        found = shop.rows(topic)
        assert found in (rows_of(range(20)), rows_of(range(number + 1))), number
    assert found == rows_of(range(26))


def test_a_smaller_micro_batch_of_an_older_checkpoint_is_refused(shop: Shop) -> None:
    """The topics share a limit, so that the first one gets less than in its micro-batch before."""
    first, other = shop.topic("a", partitions=1), shop.topic("b", partitions=1)
    shop.options["maxOffsetsPerTrigger"] = "40"
    for topic in (first, other):
        shop.send(topic, orders(range(10)))
    shop.run()
    shop.send(first, orders(range(10, 50)))
    shop.run()
    shop.forget_last_micro_batch()
    shop.send(other, orders(range(10, 50)))
    with pytest.raises(StreamingQueryException, match="with other offsets, and the checkpoint is"):
        shop.run()
    assert shop.rows(first) == rows_of(range(50))


def test_a_new_query_appends_after_snapshots_have_expired(shop: Shop) -> None:
    topic = shop.topic("a")
    shop.send(topic, orders(range(10)))
    shop.run()
    if shop.provider == "iceberg":
        expire(shop, topic)
    shop.send(topic, orders(range(10, 20)))
    shutil.rmtree(shop.checkpoint)
    shop.run()
    assert shop.rows(topic) == sorted([*rows_of(range(10)), *rows_of(range(20))], key=repr)


def test_a_repeated_micro_batch_after_its_snapshot_has_expired_is_refused(shop: Shop) -> None:
    if shop.provider == "delta":
        pytest.skip("Delta's log has the commit")
    topic = shop.topic("a")
    shop.send(topic, orders(range(10)))
    shop.run()
    expire(shop, topic)
    shop.forget_last_commit()
    with pytest.raises(StreamingQueryException, match="what was cut off is not known"):
        shop.run()
    assert shop.rows(topic) == rows_of(range(10))


def expire(shop: Shop, topic: str) -> None:
    """Compact an Iceberg table, and expire all of its snapshots but the newest."""
    catalog, _, name = shop.name(topic).partition(".")
    shop.spark.sql(
        f"CALL {catalog}.system.rewrite_data_files(table => '{name}', "
        "options => map('rewrite-all', 'true'))"
    )
    shop.spark.sql(
        f"CALL {catalog}.system.expire_snapshots(table => '{name}', "
        "older_than => TIMESTAMP '2100-01-01', retain_last => 1)"
    )


def test_names_of_fields_do_not_read_the_environment(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYKAFKA_TEST_SECRET", "hush")
    topic = shop.topic("a")
    name = "${env:PYKAFKA_TEST_SECRET}"
    shop.send(topic, [(None, {"id": 1, "s": {name: "x"}})])
    shop.options["value.schema"] = f"id bigint, s struct<`{name}`: string>"
    progress = shop.run(on_error="suspend")
    if progress[topic].state is State.WRITTEN:
        assert name in shop.types(topic)["s"]
        assert shop.rows(topic, "to_json(s)") == [(json.dumps({name: "x"}, separators=(",", ":")),)]
    assert "hush" not in progress[topic].reason


def test_the_reason_of_a_broken_payload_names_the_record(shop: Shop) -> None:
    topic = shop.topic("a", partitions=1)
    shop.send(topic, [*orders([1]), (None, b"{broken")])
    progress = shop.run(on_error="suspend")
    assert f"{topic}-0" in progress[topic].reason
    assert "offset 1" in progress[topic].reason


def test_a_query_that_is_started_again_while_it_runs(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a cell of a notebook that is run once more."""
    topic = shop.topic("a", partitions=1)
    shop.send(topic, orders(range(3)))
    shop.spark.sql(f"CREATE TABLE {shop.name(topic)} (id string) USING {shop.provider}")
    trigger = {"processingTime": "0 seconds"}
    first = shop.tables(on_error="suspend").start(shop.checkpoint, trigger=trigger)
    first.query.processAllAvailable()
    assert [each.state for each in first.tables()] == [State.SUSPENDED]
    shop.spark.sql(f"DROP TABLE {shop.name(topic)}")
    real = TablesOfMicroBatch.catch_up

    def catch_up(self: TablesOfMicroBatch, spark: SparkSession) -> None:
        real(self, spark)
        shop.send(topic, orders(range(3, 6)))
        if first.query.isActive:
            first.query.processAllAvailable()

    monkeypatch.setattr(TablesOfMicroBatch, "catch_up", catch_up)
    second = shop.tables(on_error="suspend").start(shop.checkpoint, trigger=trigger)
    try:
        second.query.processAllAvailable()
        shop.send(topic, orders(range(6, 9)))
        second.query.processAllAvailable()
    finally:
        second.stop()
    assert shop.rows(topic) == rows_of(range(9))
    monkeypatch.undo()
    shop.run()
    assert shop.rows(topic) == rows_of(range(9))
