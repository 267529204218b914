"""A table for each record type of a topic, with a real registry."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession

from kafka_spark_source.tables import commits
from kafka_spark_source.tables.progress import State
from kafka_spark_source.tables.records import TopicRecords
from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from tests.change_data.lake import NEWEST
from tests.change_data.shop import Shop
from tests.change_data.test_tables_grow import record

pytestmark = [pytest.mark.integration, pytest.mark.spark]

Send = Callable[..., None]


@pytest.fixture(params=NEWEST)
def shop(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    schema_registry: SchemaRegistry,
    tmp_path: Path,
) -> Iterator[Shop]:
    """A shop without topics, for topics of several record types."""
    made_of = spark, kafka_cluster.bootstrap_servers, request.param, tmp_path
    with closing(Shop(*made_of)) as made:
        del made.options["value.schema"]
        registry = {"value.format": "avro", "schema.registry.url": schema_registry.url}
        made.options |= registry | {"value.subjects.pattern": f"{made.schema_name}.*"}
        yield made


@pytest.fixture
def send(shop: Shop, schema_registry: SchemaRegistry) -> Iterator[Send]:
    """Writes a record of a type, which is registered by its full name."""
    with SchemaRegistryClient({"url": schema_registry.url}) as client:
        conf = {"subject.name.strategy": record_subject_name_strategy}

        def write(
            topic: str, name: str, types: dict[str, Any], value: dict[str, Any], *, cut: int = 0
        ) -> None:
            schema = record(f"{shop.schema_name}.{name}", **types)
            serialize = AvroSerializer(client, json.dumps(schema), conf=conf)
            context = SerializationContext(topic, MessageField.VALUE)
            payload = serialize(value, context)
            shop.send(topic, [(None, payload[: len(payload) - cut])])

        yield write


def by_type(shop: Shop) -> dict[str, Any]:
    """The arguments for a table of each type, by the short name."""
    return {
        "table": lambda _, name: shop.name(name.rpartition(".")[2]),
        "metadata": ["_kafka_offset"],
    }


ORDER, PAYMENT = {"id": "long"}, {"card": "string"}


@pytest.mark.core
def test_types_of_a_topic_become_tables_also_later_ones(shop: Shop, send: Send) -> None:
    topic = shop.topic("events", partitions=1)
    send(topic, "Order", ORDER, {"id": 1})
    send(topic, "Payment", PAYMENT, {"card": "x"})
    send(topic, "Order", ORDER, {"id": 2})
    shop.run(**by_type(shop))
    assert shop.rows("Order", "_kafka_offset", "id") == [(0, 1), (2, 2)]
    assert shop.rows("Payment", "_kafka_offset", "card") == [(1, "x")]
    running = shop.tables(**by_type(shop)).start(
        shop.checkpoint, trigger={"processingTime": "0 seconds"}
    )
    try:
        send(topic, "Payment", PAYMENT, {"card": "y"})
        running.query.processAllAvailable()
        send(topic, "Refund", {"why": "string"}, {"why": "late"})
        send(topic, "Order", ORDER | {"note": ["null", "string"]}, {"id": 3, "note": "n"})
        send(topic, "Ping", {}, {})
        running.query.processAllAvailable()
    finally:
        running.query.stop()
    assert shop.rows("Order", "_kafka_offset", "id", "note") == [
        *((0, 1, None), (2, 2, None), (5, 3, "n"))
    ]
    assert shop.rows("Payment", "_kafka_offset", "card") == [(1, "x"), (3, "y")]
    assert shop.rows("Refund", "_kafka_offset", "why") == [(4, "late")]
    assert shop.rows("Ping", "_kafka_offset") == [(6,)]


def test_a_crash_between_the_tables_of_a_topic(shop: Shop, send: Send) -> None:
    topic = shop.topic("events", partitions=1)
    send(topic, "Order", ORDER, {"id": 1})
    send(topic, "Payment", PAYMENT, {"card": "x"})
    shop.run(**by_type(shop))
    payments = shop.name("Payment")
    own = f"{topic}:{shop.schema_name}.Payment"
    claim = f"ALTER TABLE {payments} SET TBLPROPERTIES ('pykafka.topic' = "
    shop.spark.sql(f"{claim}'other')")
    send(topic, "Order", ORDER, {"id": 2})
    send(topic, "Payment", PAYMENT, {"card": "y"})
    progress = shop.run(**by_type(shop), on_error="suspend")
    assert progress[topic].state is State.SUSPENDED
    assert "is filled from topic other" in progress[topic].reason
    assert shop.rows("Order", "id") == [(1,), (2,)]
    shop.spark.sql(f"{claim}'{own}')")
    send(topic, "Order", ORDER, {"id": 3})
    for _ in range(2):
        shop.run(**by_type(shop), on_error="suspend")
        shop.forget_last_commit()
    assert shop.rows("Order", "id") == [(1,), (2,), (3,)]
    assert shop.rows("Payment", "card") == [("x",), ("y",)]


def test_a_broken_payload_of_whichever_type_is_put_aside_once(shop: Shop, send: Send) -> None:
    topic = shop.topic("events", partitions=1)
    letters = shop.topic("letters", partitions=1)
    send(topic, "Order", ORDER, {"id": 1})
    send(topic, "Payment", PAYMENT, {"card": "x"})
    for name, schema, value in (("Order", ORDER, {"id": 2}), ("Payment", PAYMENT, {"card": "y"})):
        send(topic, name, schema, value, cut=1)
    shop.send(topic, [(None, b"broken")])
    del shop.options["subscribePattern"]
    shop.options |= {"subscribe": topic, "deadLetterTopic": letters}
    shop.run(**by_type(shop))
    assert (shop.rows("Order", "id"), shop.rows("Payment", "card")) == ([(1,)], [("x",)])
    read = shop.spark.read.format("pykafka").option("subscribe", letters)
    servers = str(shop.options["kafka.bootstrap.servers"])
    rows = read.option("kafka.bootstrap.servers", servers).load().select("value").collect()
    assert len(rows) == 3
    assert bytes(rows[-1][0]) == b"broken"


def test_types_that_are_registered_while_schemas_are_read(
    shop: Shop, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = shop.topic("events", partitions=1)
    send(topic, "one.Order", ORDER, {"id": 1})
    registered: list[str] = []

    types_of = TopicRecords.types

    def registered_after(records: TopicRecords) -> Any:
        types = types_of(records)
        if not registered:
            send(topic, "two.Order", ORDER, {"id": 2})
            registered.append("two.Order")
        return types

    monkeypatch.setattr(TopicRecords, "types", registered_after)
    named = {"table": lambda _, name: shop.name("_".join(name.split(".")[-2:]))}
    for _ in range(2):
        shop.run(**named, metadata=["_kafka_offset"])
    assert (shop.rows("one_Order", "id"), shop.rows("two_Order", "id")) == ([(1,)], [(2,)])


def test_commits_that_cannot_be_seen_any_more_are_not_taken_for_none(
    shop: Shop, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A type has its row, another one of its topic is late, and the mark is out of sight."""
    topic = shop.topic("events", partitions=1)
    send(topic, "Aaa", ORDER, {"id": 1})
    send(topic, "Bbb", PAYMENT, {"card": "x"})
    shop.run(**by_type(shop))
    send(topic, "Aaa", ORDER, {"id": 2})
    send(topic, "Bbb", PAYMENT, {"card": "x"}, cut=1)
    shop.run(**by_type(shop), on_error="suspend")
    assert shop.rows("Aaa", "id") == [(1,), (2,)]
    monkeypatch.setattr(commits, "_HISTORY", 3)
    for number in range(4):
        shop.spark.sql(f"INSERT INTO {shop.name('Aaa')} VALUES (9, {number})")
    if shop.provider == "iceberg":
        catalog, _, name = shop.name("Aaa").partition(".")
        retained = f"table => '{name}', older_than => now(), retain_last => 2"
        shop.spark.sql(f"CALL {catalog}.system.expire_snapshots({retained})")
    send(topic, "Aaa", ORDER, {"id": 3})
    for _ in range(2):
        progress = shop.run(**by_type(shop), on_error="suspend")
        assert shop.rows("Aaa", "id", where="id < 9") == [(1,), (2,)]
    assert "what was cut off is not known" in progress[topic].reason


def test_a_record_without_a_type_is_in_no_table_and_an_error(shop: Shop, send: Send) -> None:
    topic = shop.topic("events", partitions=1)
    send(topic, "Order", ORDER, {"id": 1})
    shop.send(topic, [("key", None)])
    progress = shop.run(**by_type(shop), on_error="suspend")
    reason = progress[topic].reason
    assert f"topic {topic}, partition 0, offset 1 has a null value, which has no" in reason


def test_what_would_have_no_table_is_refused(shop: Shop, send: Send) -> None:
    topic = shop.topic("events", partitions=1)
    send(topic, "Order", ORDER, {"id": 1})
    for more, refusal in (
        ({"rows": "upsert"}, "a deletion has no type. Only append"),
        ({"topic_options": {topic: {"mode": "PERMISSIVE"}}}, "a broken payload has no type"),
        ({"topic_options": {topic: {"value.format": "raw"}}}, "value.subjects"),
    ):
        (planned,) = shop.tables(**by_type(shop), **more).plan()
        assert refusal in planned.refusal
    (planned,) = shop.tables(**by_type(shop)).plan()
    assert planned.topic == f"{topic}:{shop.schema_name}.Order"
    assert planned.statements[0].startswith("CREATE TABLE")
