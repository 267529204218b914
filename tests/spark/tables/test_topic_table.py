"""How records become rows of a table: options, columns and tasks, without brokers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables import records, sink
from kafka_spark_source.tables.arguments import Rows, parse
from kafka_spark_source.tables.commits import Marker
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.query import topics_to_tables
from kafka_spark_source.tables.range_source import KafkaRanges, RangesAsRows
from kafka_spark_source.tables.ranges import COLUMNS, from_row
from kafka_spark_source.tables.records import TopicRecords, options_for
from kafka_spark_source.tables.topic_table import TopicTable
from tests.spark.tables.test_micro_batch import USUAL

KAFKA = {"kafka.bootstrap.servers": "127.0.0.1:1"}
JSON = {**KAFKA, "value.format": "json", "value.schema": "id bigint, name string"}
KEYED = {**JSON, "key.format": "json", "key.schema": "id bigint"}
A = uuid.UUID(int=1)


def planned(partition: int, topic_id: uuid.UUID | None = None) -> PlannedRange:
    return PlannedRange(OffsetRange(TopicPartition("t", partition), 0, 5), topic_id)


def table(options: dict[str, str], **more: Any) -> TopicTable:
    arguments = parse(**{**USUAL, "options": options, **more}, on_error="fail", threads=1)
    return TopicTable.of(arguments, "t")


def test_a_row_for_each_record() -> None:
    made = table({**JSON, "subscribePattern": ".*", "startingOffsets": "earliest"})
    assert made.kind is Rows.APPEND
    assert made.columns is not None
    assert [*made.columns] == [
        *("id", "name", "_kafka_topic", "_kafka_partition", "_kafka_offset", "_kafka_timestamp")
    ]
    assert made.read.schema.names == ["value", "topic", "partition", "offset", "timestamp"]


def test_the_row_of_a_key() -> None:
    assert table(KEYED, rows="upsert").keys == ("id",)
    assert table({**JSON, "key.format": "raw"}, rows="upsert").keys == ("_kafka_key",)
    made = table(KEYED, rows="upsert", keys=["name"], merge_options={"sequence_by": "name"})
    assert (made.keys, made.merge_options) == (("name",), {"sequence_by": "name"})


def test_changes_of_a_database() -> None:
    made = table(KEYED, rows="changes")
    assert (made.kind, made.keys, made.columns) == (Rows.CHANGES, ("id",), None)
    with pytest.raises(TableError, match=r"set key\.format"):
        table(JSON, rows="changes")


def test_options_that_say_which_records_are_read_stay_with_the_stream() -> None:
    given = {
        **{"subscribePattern": "a.*", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "5"},
        **{"kafka.group.id": "g", "commitOffsetsToGroup": "true", "minPartitions": "4"},
    }
    assert options_for(given, "t") == {"minPartitions": "4", "subscribe": "t"}


def test_schemas_that_the_columns_lack_stop_a_write_where_they_are_known() -> None:
    registry = {"value.format": "avro", "schema.registry.url": "http://127.0.0.1:1"}
    parsed = records._parsed({**KAFKA, **registry, "subscribe": "t"})
    assert parsed.formats is not None
    assert [each.evolution.value for each in parsed.formats.payloads] == ["exact"]
    chosen = {"value.schema.evolution": "none"}
    parsed = records._parsed({**KAFKA, **registry, **chosen, "subscribe": "t"})
    assert parsed.formats is not None
    assert [each.evolution.value for each in parsed.formats.payloads] == ["none"]
    with pytest.raises(KafkaConfigError, match=r"value\.format"):
        records._parsed({**KAFKA, "value.format": "no such", "subscribe": "t"})


def test_a_dead_letter_is_a_matter_of_the_read() -> None:
    read = TopicRecords({**JSON, "deadLetterTopic": "dead"}, "t").read()
    assert read.options.dead_letter_topic == "dead"


class Reader:
    def read(self, _: object, ranges: Sequence[PlannedRange]) -> Iterator[pa.RecordBatch]:
        numbers = [each.wanted.topic_partition.partition for each in ranges]
        yield pa.RecordBatch.from_pydict({"n": numbers})


class Session:
    """Runs what `mapInArrow` gets, for each number."""

    def range(self, start: int, end: int, step: int, parts: int) -> Session:
        assert parts == max(end, 1)
        self.batches = [pa.RecordBatch.from_pydict({"id": [*range(start, end, step)]})]
        return self

    def mapInArrow(self, call: Any, _schema: object) -> list[int]:
        return [n for batch in call(self.batches) for n in batch.column(0).to_pylist()]


def test_each_range_is_read_by_one_task() -> None:
    read = TopicRecords({**JSON, "minPartitions": "4"}, "t").read()
    made: Any = replace(read, reader=Reader())
    # The topic of an id, and another one of its name.
    ranges = [planned(0, A), planned(1, A), planned(0)]
    assert sorted({*made.frame(Session(), ranges)}) == [0, 1]
    assert made.frame(Session(), []) == []


def test_a_stream_of_ranges() -> None:
    (batch,) = RangesAsRows().read(None, [planned(3, A)])  # type: ignore[arg-type]
    assert batch.schema.names == [each.split()[0] for each in COLUMNS.split(", ")]
    assert [from_row(tuple(each.values())) for each in batch.to_pylist()] == [planned(3, A)]
    assert KafkaRanges.name() == "pykafka_ranges"
    refused: Any = KafkaRanges({"startingOffsets": "never", **KAFKA, "topic": "x"})
    with pytest.raises(KafkaConfigError):
        refused.streamReader(None).initialOffset()
    source: Any = KafkaRanges({**KAFKA, "subscribe": "t"})
    reader = source.streamReader(SimpleNamespace(names=["topic"]))
    assert reader.options.parts.are_together


class Writer:
    """As Spark's writers: keeps what it gets."""

    def __init__(self) -> None:
        self.options_: dict[str, str] = {}
        self.calls: list[object] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: object, **options: str) -> Writer:
            if name == "option":
                self.options_ |= {str(arguments[0]): str(arguments[1])}
            self.options_ |= options
            self.calls.append((name, *arguments))
            return self

        return call


def test_a_commit_says_what_it_is() -> None:
    marker, writer = Marker.of("q", 3, [planned(0, A)]), Writer()
    exist = {"t"}
    spark = SimpleNamespace(catalog=SimpleNamespace(tableExists=exist.__contains__))
    rows: Any = SimpleNamespace(write=writer, writeTo=lambda _table: writer, sparkSession=spark)
    sink.append(rows, "t", "delta", marker)
    assert writer.options_ == {
        "userMetadata": marker.json(),
        **{"txnAppId": "q", "txnVersion": "3"},
    }
    assert ("saveAsTable", "t") in writer.calls
    with pytest.raises(TableError, match="was dropped while it was written"):
        sink.append(rows, "u", "delta", marker)
    writer.options_ = {}
    sink.append(rows, "t", "iceberg", marker)
    expected = {f"snapshot-property.{each}": v for each, v in marker.properties().items()}
    assert writer.options_ == expected
    assert writer.calls[-1] == ("append",)


def test_spark_connect_is_refused() -> None:
    remote: Any = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(KafkaConfigError, match="does not work over Spark Connect"):
        topics_to_tables(remote, KAFKA, "lake.{topic}")


def test_what_a_start_refuses_before_it_asks_brokers() -> None:
    session: Any = SimpleNamespace()
    tables = topics_to_tables(session, {**KAFKA, "password": "hush"}, "lake.{topic}")
    assert repr(tables) == "<TopicsToTables <Arguments for tables of delta>>"
    with pytest.raises(KafkaConfigError, match="checkpoint is empty"):
        tables.start(" ")
