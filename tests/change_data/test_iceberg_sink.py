"""`topics_to_tables` beside Iceberg's own sink for Kafka Connect: the same topics, the same tables.

The types that differ are in `append_records`, and on the page docs/topics-to-tables.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from pyspark.sql import SparkSession

from kafka_spark_source.tables.progress import State
from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from tests.change_data import append_records as records
from tests.change_data import connect
from tests.change_data.append_records import LATE, ROWS, TOMBSTONES, Difference
from tests.change_data.iceberg_sink import (
    Column,
    columns_of,
    connector,
    iceberg_sink,
    wait_for_rows,
)
from tests.change_data.lake import FORMATS, ICEBERG
from tests.change_data.test_tables_grow import AvroShop
from tests.spark_session import SPARK_ERRORS

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif("iceberg" not in FORMATS, reason="this Spark has no jars of Iceberg"),
]

DIFFERENCES: Final[Mapping[str, Mapping[str, Difference]]] = {
    "avro": records.AVRO_DIFFERENCES,
    "json": records.JSON_DIFFERENCES,
    "clock": records.CLOCK_DIFFERENCES,
}
WRITTEN: Final = {"avro": 2 * ROWS + len(LATE), "json": 2 * ROWS, "clock": ROWS}
"""How many records of each topic have a value."""
FIRST, SECOND = range(ROWS), range(ROWS, 2 * ROWS)


class Both:
    """Three topics, the tables of `topics_to_tables` (`ours`), and the tables of the sink."""

    def __init__(self, shop: AvroShop, registry: SchemaRegistry, warehouse: Path) -> None:
        self.shop = shop
        self.topics = {name: shop.topic(name) for name in DIFFERENCES}
        self.ours = warehouse / shop.schema_name
        self.sinks = warehouse / f"{shop.schema_name}_sink"
        del shop.options["value.format"], shop.options["schema.registry.url"]
        as_avro = {"value.format": "avro", "schema.registry.url": registry.url}
        as_json = {"value.format": "json", "value.framing": "connect"}
        as_json["value.schema"] = records.JSON_COLUMNS
        self._options = {
            topic: as_json if name == "json" else as_avro for name, topic in self.topics.items()
        }
        converters = dict.fromkeys(DIFFERENCES, connect.avro(registry.url))
        converters["json"] = connect.JSON_WITH_SCHEMAS
        self._connectors = [
            connector(topic, f"{self.sinks.name}.{name}", warehouse, converters[name])
            for name, topic in self.topics.items()
        ]

    def fill(self, servers: str) -> None:
        """Write the records of both schemas, and let both programs fill their tables."""
        shop, (avro, json, clock) = self.shop, self.topics.values()
        late = shop.encoded(avro, records.FIRST, records.orders(LATE, is_second=False))
        shop.send_avro(avro, records.FIRST, *records.orders(FIRST, is_second=False))
        shop.send_avro(clock, records.CLOCK, *records.clocks(FIRST))
        shop.send(json, [(None, each) for each in records.documents(FIRST, is_second=False)])
        with iceberg_sink(servers, self._connectors) as server:
            self._run()
            wait_for_rows(server, {self.sinks / name: ROWS for name in self.topics})
            shop.send_avro(avro, records.SECOND, *records.orders(SECOND, is_second=True))
            shop.send(avro, [*late, *[(None, None)] * TOMBSTONES])
            shop.send(json, [(None, each) for each in records.documents(SECOND, is_second=True)])
            wait_for_rows(server, {self.sinks / name: rows for name, rows in WRITTEN.items()})
        self._run()
        shop.checkpoint += "-at-once"
        self._run({"subscribePattern": re.escape(avro)}, table=lambda _: f"{shop.schema}.at_once")

    def _run(self, options: Mapping[str, str] = {}, **arguments: Any) -> None:
        progress = self.shop.run(
            options=options, topic_options=self._options, metadata=(), **arguments
        )
        assert all(each.state is State.WRITTEN for each in progress.values()), progress

    def columns(self, name: str) -> tuple[dict[str, Column], dict[str, Column]]:
        """The columns of our table of a topic, and of the sink's."""
        table = self.shop.name(self.topics[name]).rpartition(".")[2]
        return columns_of(self.ours / table), columns_of(self.sinks / name)

    def our_rows(self, table: str) -> Counter[str]:
        """The rows of a table of ours, as texts."""
        return self._rows(table, {})

    def sink_rows(self, name: str, as_ours: Mapping[str, str]) -> Counter[str]:
        """The rows of the sink's table of a topic, with expressions for columns."""
        return self._rows(f"{ICEBERG}.{self.sinks.name}.{name}", as_ours)

    def _rows(self, table: str, as_ours: Mapping[str, str]) -> Counter[str]:
        self.shop.spark.sql(f"REFRESH TABLE {table}")
        frame = self.shop.spark.table(table)
        selected = frame.selectExpr(*(f"{as_ours.get(c, c)} AS {c}" for c in frame.columns))
        return Counter(repr(plain(row)) for row in selected.collect())


def plain(value: object) -> object:
    """A value without the names of fields, which a row has, and without the order of a map."""
    match value:
        case dict():
            return sorted((key, plain(each)) for key, each in value.items())
        case list() | tuple():
            return [plain(each) for each in value]
        case _:
            return value


@pytest.fixture(scope="module")
def both(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    schema_registry: SchemaRegistry,
    warehouse: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Both]:
    """The tables of both, with all records."""
    servers = kafka_cluster.bootstrap_servers
    made_of = spark, servers, "iceberg", tmp_path_factory.mktemp("beside-the-sink")
    with (
        SchemaRegistryClient({"url": schema_registry.url}) as client,
        closing(AvroShop(schema_registry, client, *made_of)) as shop,
    ):
        made = Both(shop, schema_registry, warehouse)
        made.fill(servers)
        yield made


@pytest.mark.parametrize("name", DIFFERENCES)
def test_columns_have_the_same_names_and_types_except_the_listed(both: Both, name: str) -> None:
    ours, sinks = both.columns(name)
    assert [*ours] == [*sinks]
    different = {
        each: (ours[each].type, sinks[each].type)
        for each in ours
        if ours[each].type != sinks[each].type
    }
    assert different == {
        each: (listed.ours, listed.sinks) for each, listed in DIFFERENCES[name].items()
    }


def test_only_the_sink_has_columns_that_cannot_be_null(both: Both) -> None:
    ours, sinks = both.columns("avro")
    assert all(each.has_nulls for each in ours.values())
    required = {each["name"] for each in records.FIRST["fields"] if "default" not in each}
    assert {name for name, each in sinks.items() if not each.has_nulls} == required


def test_rows_are_the_same_while_schemas_change(both: Both) -> None:
    expressions = {name: each.as_ours for name, each in records.AVRO_DIFFERENCES.items()}
    ours, _ = both.columns("avro")
    tombstones = Counter({repr([None] * len(ours)): TOMBSTONES})
    grown = both.sink_rows("avro", expressions | records.GROWN) + tombstones
    assert both.our_rows(both.shop.name(both.topics["avro"])) == grown
    at_once = both.sink_rows("avro", expressions | records.READ_AT_ONCE) + tombstones
    assert both.our_rows(f"{both.shop.schema}.at_once") == at_once
    assert grown.total() == at_once.total() == WRITTEN["avro"] + TOMBSTONES


def test_rows_of_json_with_schemas_are_the_same(both: Both) -> None:
    expressions = {name: each.as_ours for name, each in records.JSON_DIFFERENCES.items()}
    rows = both.our_rows(both.shop.name(both.topics["json"]))
    assert rows == both.sink_rows("json", expressions)
    assert rows.total() == WRITTEN["json"]


def test_times_are_the_same(both: Both) -> None:
    files = sorted((both.sinks / "clock").glob("data/*.parquet"))
    sinks = pa.concat_tables([pq.read_table(each) for each in files])
    millis = pc.divide(sinks["clock"].cast(pa.int64()), 1_000)
    expected = Counter(zip(sinks["id"].to_pylist(), millis.to_pylist(), strict=True))
    rows = both.shop.spark.table(both.shop.name(both.topics["clock"])).collect()
    assert Counter(map(tuple, rows)) == expected
    with pytest.raises(SPARK_ERRORS, match="Spark does not support time fields"):
        both.sink_rows("clock", {})
