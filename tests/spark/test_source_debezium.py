"""The data source with `envelope=debezium` as Spark calls it, without a broker."""

from __future__ import annotations

import pickle

import pytest
from pyspark.sql.types import StructType

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.reading.batch_reader import KafkaBatchReader
from kafka_spark_source.source import KafkaDataSource
from tests.formats.debezium.events import TS_MS, dumped, event, rows_of

pytestmark = pytest.mark.core

READ = {
    "kafka.bootstrap.servers": "localhost:9092",
    "subscribe": "shop.public.items",
    "envelope": "debezium",
    "value.format": "json",
    "value.schema": "id bigint, name string, price decimal(10, 2), at timestamp",
    "key.schema": "id bigint",
}


def test_the_columns_are_those_of_the_table_and_of_changes() -> None:
    schema = KafkaDataSource(READ | {"includeHeaders": "true", "mode": "PERMISSIVE"}).schema()
    assert schema.names == [
        *("id", "name", "price", "at", "op", "ts_ms", "source", "key"),
        *("topic", "partition", "offset", "timestamp", "timestampType", "headers", "topicId"),
        *("_unavailable", "_error", "_raw", "_raw_key"),
    ]
    assert all(field.nullable for field in schema)
    assert schema["price"].dataType.simpleString() == "decimal(10,2)"
    assert schema["key"].dataType.simpleString() == "struct<id:bigint>"
    assert schema["_unavailable"].dataType.simpleString() == "array<string>"


def test_a_reader_makes_rows_of_what_its_schema_wants() -> None:
    wanted = StructType().add("offset", "long").add("name", "string").add("op", "string")
    reader = pickle.loads(pickle.dumps(KafkaDataSource(READ).reader(wanted)))
    assert isinstance(reader, KafkaBatchReader)
    given = [(dumped({"id": 1}), dumped(event("c", after={"id": 1, "name": "x"})))]
    assert rows_of(reader._reader.stages, given) == [{"offset": 0, "name": "x", "op": "c"}]


def test_the_row_before_a_change_is_a_column_by_an_option_or_by_its_name() -> None:
    schema = KafkaDataSource(READ | {"debezium.before": "true"}).schema()
    assert schema.names[:9] == [
        *("id", "name", "price", "at", "op", "ts_ms", "source", "before", "key")
    ]
    assert schema["before"].dataType == StructType(schema.fields[:4])
    wanted = StructType().add("id", "long").add("before", StructType().add("name", "string"))
    for options in (READ, READ | {"debezium.before": "true"}):
        for reader in (KafkaDataSource(options).reader, KafkaDataSource(options).streamReader):
            stages = vars(reader(wanted))["_reader"].stages
            given = [(dumped({"id": 1}), dumped(event("u", {"name": "x"}, {"id": 2})))]
            assert rows_of(stages, given) == [{"id": 2, "before": {"name": "x"}}]


def test_a_stream_reads_the_same() -> None:
    source = KafkaDataSource(READ | {"includeTopicId": "false"})
    reader = source.streamReader(source.schema())
    stages = vars(reader)["_reader"].stages
    (row,) = rows_of(stages, [(dumped({"id": 7}), dumped(event("d")))])
    assert (row["id"], row["op"], row["ts_ms"], row["key"]) == (7, "d", TS_MS, {"id": 7})


@pytest.mark.parametrize(
    ("column", "kind", "message"),
    [
        ("nme", "string", "There is no column 'nme'; there are id, name, price, at, op, ts_ms"),
        ("offset", "string", "Column 'offset' is int64, not string"),
        ("topicId", "integer", "Column 'topicId' is string, not int32"),
        ("headers", "string", "Column 'headers' needs the option includeHeaders"),
        ("value", "binary", "There is no column 'value'"),
    ],
)
def test_a_projection_is_checked(column: str, kind: str, message: str) -> None:
    with pytest.raises(KafkaConfigError, match=message):
        KafkaDataSource(READ).reader(StructType().add(column, kind))


def test_filters_of_a_table_with_names_of_kafka_are_not_pushed_down() -> None:
    source = KafkaDataSource(READ | {"pushDownPredicate": "true", "debezium.prefix": "__"})
    with pytest.raises(KafkaConfigError, match=r"'debezium\.prefix' contradict each other"):
        source.reader(StructType().add("id", "long"))


def test_values_need_a_format() -> None:
    options = {name: each for name, each in READ.items() if not name.startswith(("value", "key"))}
    with pytest.raises(
        KafkaConfigError, match=r"set value\.format to how the connector's converter"
    ):
        KafkaDataSource(options).schema()
