"""Tables that grow while the query of `topics_to_tables` runs, with a real registry."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession

from kafka_spark_source.tables.progress import State
from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from tests.change_data.lake import NEWEST
from tests.change_data.shop import Shop

pytestmark = [pytest.mark.integration, pytest.mark.spark]

Fields = dict[str, Any]


def fields_of(**types: Any) -> list[Fields]:
    """Fields of Avro; a default where the type is a union with null."""
    return [
        {"name": name, "type": each} | ({"default": None} if isinstance(each, list) else {})
        for name, each in types.items()
    ]


def record(name: str, **types: Any) -> Fields:
    return {"type": "record", "name": name, "fields": fields_of(**types)}


FIRST: Final = record("Order", id="int", at=record("At", lat="float"))
LINE: Final = record("Line", sku="string")
SECOND: Final = record(
    "Order",
    id="long",
    at=record("At", lat="double", alt=["null", "int"]),
    lines=["null", {"type": "array", "items": LINE}],
)
THIRD: Final = record(
    "Order",
    id="long",
    at=record("At", lat="double", alt=["null", "int"]),
    lines=["null", {"type": "array", "items": record("Line", sku="string", n=["null", "int"])}],
    tags=["null", {"type": "map", "values": "long"}],
)


class AvroShop(Shop):
    """A shop whose values are of Avro, as Confluent's serializer writes them."""

    def __init__(self, registry: SchemaRegistry, client: Any, *arguments: Any) -> None:
        super().__init__(*arguments)
        del self.options["value.schema"]
        self.options |= {"value.format": "avro", "schema.registry.url": registry.url}
        self._client = client

    def send_avro(self, topic: str, schema: Fields, *values: Fields) -> None:
        """Write values of a schema, which is registered as the newest one of the topic."""
        self.send(topic, self.encoded(topic, schema, values))

    def encoded(
        self, topic: str, schema: Fields, values: Iterable[Fields]
    ) -> list[tuple[None, bytes | None]]:
        """Records of a schema, which is registered as the newest one of the topic."""
        serialize = AvroSerializer(self._client, json.dumps(schema))
        context = SerializationContext(topic, MessageField.VALUE)
        return [(None, serialize(value, context)) for value in values]


@pytest.fixture(params=NEWEST)
def shop(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    schema_registry: SchemaRegistry,
    tmp_path: Path,
) -> Iterator[AvroShop]:
    """A shop without topics."""
    made_of = spark, kafka_cluster.bootstrap_servers, request.param, tmp_path
    with (
        SchemaRegistryClient({"url": schema_registry.url}) as client,
        closing(AvroShop(schema_registry, client, *made_of)) as made,
    ):
        yield made


@pytest.mark.core
def test_columns_fields_and_types_follow_the_schemas_without_a_restart(shop: AvroShop) -> None:
    topic = shop.topic("orders", partitions=1)
    shop.send_avro(topic, FIRST, {"id": 1, "at": {"lat": 0.5}})
    running = shop.tables(metadata=["_kafka_offset"]).start(
        shop.checkpoint, trigger={"processingTime": "0 seconds"}
    )
    try:
        running.query.processAllAvailable()
        assert shop.rows(topic, "id", "at.lat") == [(1, 0.5)]
        second = {"id": 2**40, "at": {"lat": 0.1, "alt": 7}, "lines": [{"sku": "a"}]}
        shop.send_avro(topic, SECOND, second)
        running.query.processAllAvailable()
        shop.send_avro(topic, FIRST, {"id": 3, "at": {"lat": 0.25}})
        third = {"id": 4, "at": {"lat": 1.0, "alt": None}, "lines": [{"sku": "b", "n": 5}]}
        shop.send_avro(topic, THIRD, {**third, "tags": {"x": 2**40}})
        running.query.processAllAvailable()
    finally:
        running.query.stop()
    assert shop.types(topic) == {
        "id": "bigint",
        "at": "struct<lat:double,alt:int>",
        "_kafka_offset": "bigint",
        "lines": "array<struct<sku:string,n:int>>",
        "tags": "map<string,bigint>",
    }
    columns = "_kafka_offset", "id", "at.lat", "at.alt", "lines.sku", "lines.n", "tags['x']"
    assert shop.rows(topic, *columns) == [
        (0, 1, 0.5, None, None, None, None),
        (1, 2**40, 0.1, 7, ["a"], [None], None),
        (2, 3, 0.25, None, None, None, None),
        (3, 4, 1.0, None, ["b"], [5], 2**40),
    ]


def test_a_type_that_a_table_cannot_get_suspends_it_alone(shop: AvroShop) -> None:
    good, bad = shop.topic("good"), shop.topic("bad")
    for topic in (good, bad):
        shop.send_avro(topic, record("R", x="int"), {"x": 1})
    shop.run()
    for topic, schema, value in ((good, "int", 2), (bad, ["int", "string"], "two")):
        fields = [{"name": "x", "type": schema}]
        shop.send_avro(topic, {"type": "record", "name": "R", "fields": fields}, {"x": value})
    progress = shop.run(on_error="suspend")
    assert progress[good].state is State.WRITTEN
    assert progress[bad].state is State.SUSPENDED
    assert "`x` is struct<`member0`: int, `member1`: string> in the records" in progress[bad].reason
    assert (shop.rows(good, "x"), shop.rows(bad, "x")) == ([(1,), (2,)], [(1,)])
    # The cure: another table, which gets what was late. What the first one has stays there.
    shop.run(table=lambda topic: shop.name(topic) + ("_2" if topic == bad else ""))
    second = shop.spark.table(f"{shop.name(bad)}_2").select("x.member1")
    assert [tuple(each) for each in second.collect()] == [("two",)]


def enum(*symbols: str) -> Fields:
    return {"type": "enum", "name": "Size", "symbols": [*symbols]}


def test_values_that_need_no_other_column_suspend_nothing(shop: AvroShop) -> None:
    """More symbols of an enum, nulls, a field less, another name: a newer schema of equal types."""
    before = record("R", size=enum("S", "M"), n="int", b="int", inner=record("N", x="int"))
    after = {
        "symbols": record("R", size=enum("S", "M", "L"), n="int", b="int", inner="N"),
        "nulls": record("R", size=enum("S", "M"), n=["null", "int"], b="int", inner="N"),
        "less": record("R", size=enum("S", "M"), n="int", inner="N"),
    }
    value = {"size": "S", "n": 1, "b": 2, "inner": {"x": 3}}
    topics = {name: shop.topic(name, partitions=1) for name in after}
    for topic in topics.values():
        shop.send_avro(topic, before, value)
    running = shop.tables().start(shop.checkpoint, trigger={"processingTime": "0 seconds"})
    try:
        running.query.processAllAvailable()
        for name, schema in after.items():
            schema["fields"][-1]["type"] = record("N", x="int")
            shop.send_avro(topics[name], schema, value | {"size": "M", "n": 7})
        shop.send_avro(topics["symbols"], after["symbols"], value | {"size": "L"})
        shop.send_avro(topics["nulls"], after["nulls"], value | {"n": None})
        running.query.processAllAvailable()
        assert {each.state for each in running.tables()} == {State.WRITTEN}
    finally:
        running.stop()
    assert shop.rows(topics["symbols"], "size", "n") == [("L", 1), ("M", 7), ("S", 1)]
    assert shop.rows(topics["nulls"], "n") == [(1,), (7,), (None,)]
    assert shop.rows(topics["less"], "n", "b") == [(1, 2), (7, None)]


def test_types_of_a_union_in_another_order_are_refused_after_a_restart_too(
    shop: AvroShop,
) -> None:
    topic = shop.topic("union", partitions=1)
    a, b, c = (record(name, x="int") for name in "ABC")
    shop.send_avro(topic, union(a, b), {"u": ("A", {"x": 1})}, {"u": ("B", {"x": 2})})
    shop.run()
    shop.send_avro(topic, union(a, b, c), {"u": ("C", {"x": 3})})
    shop.run()
    expected = [(1, None, None), (None, 2, None), (None, None, 3)]
    assert shop.rows(topic, "u.member0.x", "u.member1.x", "u.member2.x") == expected
    shop.send_avro(topic, union(b, a, c), {"u": ("A", {"x": 4})})
    reason = shop.run(on_error="suspend")[topic].reason
    assert "has the types of the union value.u in another order" in reason
    assert "has A, B, C as member0 and so on, the schema B, A, C" in reason
    shop.send_avro(topic, union(a, b, c), {"u": ("B", {"x": 5})})
    assert shop.rows(topic, "u.member0.x", "u.member1.x", "u.member2.x") == expected


def union(*types: Fields) -> Fields:
    return {"type": "record", "name": "R", "fields": [{"name": "u", "type": [*types]}]}
