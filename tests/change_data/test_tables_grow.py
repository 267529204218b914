"""Tables that grow while the query of `topics_to_tables` runs, with a real registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
from tests.change_data.lake import FORMATS
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
        serialize = AvroSerializer(self._client, json.dumps(schema))
        context = SerializationContext(topic, MessageField.VALUE)
        self.send(topic, [(None, serialize(value, context)) for value in values])


@pytest.fixture(params=FORMATS)
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
