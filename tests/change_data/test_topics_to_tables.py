"""`topics_to_tables` on tables of Delta and of Iceberg, with real brokers: each record once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from kafka_spark_source.tables import TableError
from kafka_spark_source.tables.progress import State
from kafka_spark_source.testing import KafkaCluster
from tests.change_data.lake import FORMATS
from tests.change_data.shop import Shop, orders, rows_of

pytestmark = [pytest.mark.integration, pytest.mark.spark]

TYPES: Final = {
    "id": "bigint",
    "name": "string",
    "_kafka_topic": "string",
    "_kafka_partition": "int",
    "_kafka_offset": "bigint",
    "_kafka_timestamp": "timestamp",
}


@pytest.fixture(params=FORMATS)
def shop(
    request: pytest.FixtureRequest, spark: SparkSession, kafka_cluster: KafkaCluster, tmp_path: Path
) -> Iterator[Shop]:
    """A shop without topics."""
    made = Shop(spark, kafka_cluster.bootstrap_servers, request.param, tmp_path)
    yield made
    made.close()


@pytest.mark.core
def test_topics_become_tables_and_a_repeated_micro_batch_changes_nothing(shop: Shop) -> None:
    a, b = shop.topic("a"), shop.topic("b-b", partitions=1)
    shop.send(a, orders(range(20)))
    shop.send(b, orders(range(5)))
    progress = shop.run()
    assert {topic: each.offsets for topic, each in progress.items()} == {a: 20, b: 5}
    assert (shop.rows(a), shop.rows(b)) == (rows_of(range(20)), rows_of(range(5)))
    assert shop.types(a) == TYPES
    shop.send(a, orders(range(20, 30)))
    late = shop.topic("made-later")
    shop.send(late, orders(range(3)))
    assert shop.run().keys() == {a, late}
    shop.forget_last_commit()
    assert shop.run().keys() == {a, late}
    assert (shop.rows(a), shop.rows(late)) == (rows_of(range(30)), rows_of(range(3)))
    assert len({*shop.rows(a, "_kafka_partition", "_kafka_offset")}) == 30


@pytest.mark.core
def test_a_crash_between_two_tables_ends_as_if_there_was_none(shop: Shop) -> None:
    topics = [shop.topic(name) for name in "abcde"]
    for topic in topics:
        shop.send(topic, orders(range(10)))
    shop.run()
    # Another topic's table cannot be written, so that the micro-batch fails after the others.
    broken = shop.name(topics[2])
    shop.spark.sql(f"ALTER TABLE {broken} SET TBLPROPERTIES ('pykafka.topic' = 'other')")
    for topic in topics:
        shop.send(topic, orders(range(10, 20)))
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match="is filled from topic other, not from"):
            shop.run()
    assert len(shop.rows(topics[0])) == 20
    shop.spark.sql(f"ALTER TABLE {broken} SET TBLPROPERTIES ('pykafka.topic' = '{topics[2]}')")
    shop.run()
    for topic in topics:
        assert shop.rows(topic) == rows_of(range(20))


def test_a_suspended_table_stops_no_other_and_gets_its_records_later(shop: Shop) -> None:
    good, bad = shop.topic("good"), shop.topic("bad")
    for topic in (good, bad):
        shop.send(topic, orders(range(10)))
    shop.run()
    name = shop.name(bad)
    shop.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('pykafka.topic' = 'other')")
    for numbers in (range(10, 20), range(20, 25)):
        for topic in (good, bad):
            shop.send(topic, orders(numbers))
        progress = shop.run(on_error="suspend")
        assert progress[good].state is State.WRITTEN
        assert progress[bad].state is State.SUSPENDED
        assert "is filled from topic other" in progress[bad].reason
    assert progress[bad].late == 15
    shop.forget_last_commit()
    assert shop.run(on_error="suspend")[bad].late == 15
    assert (shop.rows(good), shop.rows(bad)) == (rows_of(range(25)), rows_of(range(10)))
    shop.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('pykafka.topic' = '{bad}')")
    # No topic has a new record: the start itself writes what is late.
    assert shop.run()[bad].state is State.WRITTEN
    shop.forget_last_commit()
    shop.run()
    assert (shop.rows(good), shop.rows(bad)) == (rows_of(range(25)), rows_of(range(25)))


def test_two_topics_of_one_name_are_refused_before_the_first_row(shop: Shop) -> None:
    shop.send(shop.topic("a.b"), orders([1]))
    shop.send(shop.topic("a-B"), orders([1]))
    with pytest.raises(TableError, match="would both be the table"):
        shop.run()
    assert shop.spark.sql(f"SHOW TABLES IN {shop.schema}").count() == 0


def test_a_plan_makes_no_table(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = shop.topic("a"), shop.topic("b")
    tables = shop.tables(rows={a: "append", b: "changes"})
    tables.show_plan()
    shown = "".join(capsys.readouterr().out.split())
    assert "CREATETABLEIFNOTEXISTS" in shown
    planned = {each.topic: each for each in tables.plan()}
    assert planned[a].table.replace("`", "") == shop.name(a).lower()
    assert "set key.format" in planned[b].refusal
    assert shop.spark.sql(f"SHOW TABLES IN {shop.schema}").count() == 0


@pytest.mark.parametrize("left", [".00000000000000000000.json.1.tmp", "00000000000000000000.crc"])
def test_what_a_killed_driver_left_of_a_new_table(shop: Shop, left: str) -> None:
    if shop.provider != "delta":
        pytest.skip("Iceberg creates a table with one file")
    topic = shop.topic("a")
    shop.send(topic, orders([1]))
    described = shop.spark.sql(f"DESCRIBE SCHEMA {shop.schema}").collect()
    location = dict(map(tuple, described))["Location"].removeprefix("file:")
    folder = Path(location, shop.name(topic).split(".")[-1], "_delta_log")
    folder.mkdir(parents=True)
    (folder / left).touch()
    progress = shop.run(on_error="suspend")
    if left.startswith("."):  # it was killed before the first version
        assert shop.rows(topic) == rows_of([1])
    else:  # somebody else's file
        assert "not empty and also not a Delta table" in progress[topic].reason


def test_a_table_that_its_catalog_does_not_know(shop: Shop) -> None:
    if shop.provider != "delta":
        pytest.skip("Iceberg creates a table with one file")
    topic = shop.topic("a")
    shop.send(topic, orders([1]))
    described = shop.spark.sql(f"DESCRIBE SCHEMA {shop.schema}").collect()
    location = dict(map(tuple, described))["Location"].removeprefix("file:")
    path = Path(location, shop.name(topic).split(".")[-1])
    create = f"CREATE TABLE delta.`{path}` (id bigint) USING delta TBLPROPERTIES ('pykafka.topic' ="
    shop.spark.sql(f"{create} '{topic}')")
    shop.run()
    assert shop.rows(topic) == rows_of([1])


def test_the_newest_record_of_a_key_and_tombstones(shop: Shop) -> None:
    topic = shop.topic("customers")
    shop.send(topic, [*orders(range(5)), ("1", {"id": 1, "name": "new"}), ("2", None)])
    upsert = {"rows": "upsert", "options": {"key.format": "raw"}}
    shop.run(**upsert)
    live = {"where": "_tombstone IS NOT TRUE"}
    expected = [each for each in rows_of(range(5)) if each[0] not in {1, 2}]
    assert shop.rows(topic, **live) == sorted([*expected, (1, "new")], key=repr)
    shop.send(topic, [("3", None), ("2", {"id": 2, "name": "again"})])
    for _ in range(2):
        shop.run(**upsert)
        shop.forget_last_commit()
    assert shop.rows(topic, **live) == sorted(
        [(0, "name 0"), (1, "new"), (2, "again"), (4, "name 4")], key=repr
    )


def test_topics_of_three_kinds_in_one_query(shop: Shop) -> None:
    log, cache, base = shop.topic("log"), shop.topic("cache"), shop.topic("base")
    kinds = {log: "append", cache: "upsert", base: "changes"}
    keyed = {"key.format": "json", "key.schema": "id bigint"}
    arguments = {"rows": kinds, "topic_options": {cache: keyed, base: keyed}}

    def change(op: str, id_: int, name: str) -> tuple[str, Any]:
        row = {"id": id_, "name": name}
        before, after = (row, None) if op == "d" else (None, row)
        event = {"op": op, "before": before, "after": after, "source": {}, "ts_ms": 1}
        return json.dumps({"id": id_}), event

    def cached(id_: int, name: str | None) -> tuple[str, Any]:
        return json.dumps({"id": id_}), name and {"id": id_, "name": name}

    shop.send(log, orders(range(4)))
    shop.send(cache, [cached(1, "a"), cached(2, "b"), cached(1, "c")])
    shop.send(base, [change("c", 1, "a"), change("c", 2, "b"), change("u", 1, "c")])
    shop.run(**arguments)
    shop.send(log, orders([4]))
    shop.send(cache, [cached(2, None), cached(3, "d")])
    shop.send(base, [change("d", 2, "b"), change("c", 3, "d")])
    for _ in range(2):
        shop.run(**arguments)
        shop.forget_last_commit()
    assert shop.rows(log) == rows_of(range(5))
    live = "_tombstone IS NOT TRUE"
    assert shop.rows(cache, where=live) == shop.rows(base, where=live) == [(1, "c"), (3, "d")]
