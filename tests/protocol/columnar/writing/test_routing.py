"""Rows to partitions: every row once, in order, to its own partition or the chosen one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.columnar.writing.key_hashes import murmur2
from kafka_protocol.columnar.writing.partitioning import TaskPartitioner
from kafka_protocol.columnar.writing.routing import Destination, route
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.options.partitioners import PARTITIONERS
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from tests.config_error import config_error

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema(
    [
        ("value", pa.string()),
        ("key", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("headers", HEADERS),
        ("ignored", pa.int64()),
        ("timestamp", pa.timestamp("us", "Europe/Berlin")),
    ]
)
COLUMNS = SinkColumns(value=0, key=1, topic=2, partition=3, headers=4, timestamp=6)
VALUE_ONLY = SinkColumns(0, None, None, None, None, None)
PARTITIONS = {"a": 3, "b": 7, "c": 1}
NOW = 1_234
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

ROW = st.fixed_dictionaries(
    {
        "value": st.none() | st.text(max_size=3),
        "key": st.none() | st.binary(max_size=3),
        "topic": st.sampled_from([*PARTITIONS]),
        "partition": st.none() | st.integers(0, 0),
        "headers": st.none()
        | st.lists(
            st.fixed_dictionaries(
                {"key": st.text(max_size=2), "value": st.none() | st.binary(max_size=2)}
            ),
            max_size=2,
        ),
        "ignored": st.just(0),
        "timestamp": st.none() | st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1)),
    }
)


def a_row(**values: Any) -> dict[str, Any]:
    return dict.fromkeys(SCHEMA.names) | {"value": "v", "topic": "b"} | values


def table_of(rows: Sequence[dict[str, Any]], first: int = 1) -> pa.Table:
    """The rows as two batches, the first with so many."""
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
    return pa.Table.from_batches([batch.slice(0, first), batch.slice(first)])


def destination(
    partitioner: str = "murmur2", columns: SinkColumns = COLUMNS, topic: str | None = None
) -> Destination:
    chooser = TaskPartitioner(PARTITIONERS[partitioner], 1_000, seed=1)
    return Destination(columns, topic, PARTITIONS.__getitem__, chooser)


def routed(table: pa.Table, to: Destination) -> dict[TopicPartition, RecordColumns]:
    """The records of each partition."""
    (records, rows, starts), places = route(table, to, NOW)
    found = {}
    for place, (start, stop) in zip(places, pairwise(starts), strict=True):
        assert start < stop
        assert place not in found
        found[place] = records_at(records, rows[start:stop])
    return found


def records_at(records: RecordColumns, rows: np.ndarray[Any, Any]) -> RecordColumns:
    headers = None if records.headers is None else records.headers.take(rows)
    key, value = records.key.take(rows), records.value.take(rows)
    return RecordColumns(key, value, records.timestamp[rows], headers)


def as_rows(records: RecordColumns) -> list[tuple[Any, ...]]:
    count = len(records.value)
    headers = [None] * count if records.headers is None else records.headers.to_pylist()
    keys, values = records.key.to_pylist(), records.value.to_pylist()
    return [*zip(keys, values, records.timestamp.tolist(), headers, strict=True)]


def readable_route(table: pa.Table) -> dict[TopicPartition, list[tuple[Any, ...]]]:
    """The expected records of each partition with the partitioner `murmur2`."""
    expected = defaultdict(list)
    for row in table.to_pylist():
        partition = row["partition"]
        if partition is None:
            hashed = murmur2(row["key"] or b"") & 0x7FFFFFFF
            partition = hashed % PARTITIONS[row["topic"]]
        value = None if row["value"] is None else row["value"].encode()
        timestamp = NOW
        if row["timestamp"] is not None:
            timestamp = (row["timestamp"] - EPOCH) // timedelta(milliseconds=1)
        topic_partition = TopicPartition(row["topic"], partition)
        expected[topic_partition].append((row["key"], value, timestamp, row["headers"]))
    return expected


@given(rows=st.lists(ROW, max_size=40), first=st.integers(0, 40), skipped=st.integers(0, 5))
def test_every_row_goes_in_order_to_its_partition(
    rows: list[dict[str, Any]], first: int, skipped: int
) -> None:
    table = table_of(rows, first).slice(skipped)
    found = routed(table, destination())
    assert {part: as_rows(records) for part, records in found.items()} == readable_route(table)


@given(partitioner=st.sampled_from([*PARTITIONERS]), rows=st.lists(ROW, max_size=30))
def test_each_row_once_with_each_partitioner(partitioner: str, rows: list[dict[str, Any]]) -> None:
    numbered = [row | {"value": str(number)} for number, row in enumerate(rows)]
    found = routed(table_of(numbered), destination(partitioner))
    numbers = []
    for (topic, partition), records in found.items():
        mine = [int(value) for value in records.value.to_pylist()]
        assert mine == sorted(mine)
        assert {rows[number]["topic"] for number in mine} == {topic}
        assert {rows[number]["partition"] for number in mine} <= {None, partition}
        assert 0 <= partition < PARTITIONS[topic]
        numbers += mine
    assert sorted(numbers) == [*range(len(rows))]


def test_the_option_wins_over_the_column() -> None:
    columns = replace(VALUE_ONLY, partition=3)
    table = table_of([a_row(key=b"k", topic="b", partition=1), a_row(topic=None, partition=1)])
    found = routed(table, destination(columns=columns, topic="a"))
    assert {part: as_rows(records) for part, records in found.items()} == {
        TopicPartition("a", 1): [(None, b"v", NOW, None)] * 2
    }


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_a_given_partition_beats_every_partitioner(partitioner: str) -> None:
    table = table_of([a_row(key=b"k", partition=number % 7) for number in range(100)])
    found = routed(table, destination(partitioner))
    assert {part.partition: len(records.value) for part, records in found.items()} == {
        0: 15, 1: 15, 2: 14, 3: 14, 4: 14, 5: 14, 6: 14
    }  # fmt: skip


def test_rows_with_a_partition_do_not_advance_round_robin() -> None:
    rows = [a_row(partition=None if number % 2 else 0, topic="a") for number in range(60)]
    found = routed(table_of(rows), destination("round_robin"))
    assert {part.partition: len(records.value) for part, records in found.items()} == {
        0: 40, 1: 10, 2: 10
    }  # fmt: skip


def addresses(column: pa.Array) -> list[int | None]:
    return [None if buffer is None else buffer.address for buffer in column.buffers()]


def test_values_are_not_copied_nor_one_batch_of_keys() -> None:
    rows = [a_row(key=b"k", headers=[], partition=place) for place in (5, 5, 0, 3, 5)]
    table = table_of(rows, first=2)
    records = route(table, destination(), NOW).gathered.records
    assert [addresses(each)[1:] for each in records.value.chunks] == [
        addresses(each)[1:] for each in table["value"].chunks
    ]
    whole = table.slice(2)
    records = route(whole, destination(), NOW).gathered.records
    assert addresses(records.key) == addresses(whole["key"].chunk(0))
    assert records.headers is not None
    assert addresses(records.headers) == addresses(whole["headers"].chunk(0))


@pytest.mark.parametrize("largest", [pa.large_string(), pa.large_binary()])
def test_large_columns(largest: pa.DataType) -> None:
    """As Spark passes them with spark.sql.execution.arrow.useLargeVarTypes."""
    values = pa.array(["v", None, "w"]).cast(largest)
    header = pa.struct([("key", pa.large_string()), ("value", pa.large_binary())])
    headers = pa.array([[{"key": "h", "value": b"1"}], None, []], pa.list_(header))
    topics = pa.array(["a"] * 3, pa.large_string())
    table = pa.table([values, values, topics, headers], [*"vkth"])
    columns = replace(VALUE_ONLY, key=1, topic=2, headers=3)
    found = routed(table, destination(columns=columns))
    rows = [row for records in found.values() for row in as_rows(records)]
    assert sorted(rows, key=repr) == [
        (None, None, NOW, None),
        (b"v", b"v", NOW, [{"key": "h", "value": b"1"}]),
        (b"w", b"w", NOW, []),
    ]
    for records in found.values():
        assert [*encode_batches(records, CompressionCodec.NONE)]


def test_no_rows() -> None:
    assert routed(table_of([]), destination()) == {}


@pytest.mark.parametrize("topics", [[None], ["a", None]], ids=["all", "some"])
def test_null_topic(topics: list[str | None]) -> None:
    table = table_of([a_row(topic=topic) for topic in topics])
    assert config_error(routed, table, destination()) == (
        "[KAFKA_NULL_TOPIC_IN_DATA] The Kafka message data sent to the producer contains a null "
        "topic. Use the `topic` option for setting a default topic."
    )


@pytest.mark.parametrize("partition", [-(2**31), -1, 3, 2**31 - 1])
@pytest.mark.parametrize("topic", [None, "a"])
def test_partition_that_does_not_exist(partition: int, topic: str | None) -> None:
    rows = [a_row(topic="b", partition=2), a_row(topic="a"), a_row(topic="a", partition=partition)]
    assert config_error(routed, table_of(rows), destination(topic=topic)) == (
        f"A row is for partition {partition} of topic 'a', which has partitions 0 to 2. Correct "
        "the column 'partition', or leave it null"
    )


def timestamps(us: Sequence[int | None], zone: str | None = "Europe/Berlin") -> list[int]:
    """The timestamps of records in ms, for a column in microseconds."""
    table = pa.table(
        [pa.nulls(len(us), pa.string()), pa.array(us, pa.timestamp("us", zone))], [*"vt"]
    )
    columns = replace(VALUE_ONLY, timestamp=1)
    (records,) = routed(table, destination(columns=columns, topic="c")).values()
    assert records.timestamp.dtype == np.int64
    found: list[int] = records.timestamp.tolist()
    return found


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "+05:30", None])
def test_a_timestamp_is_the_instant_in_ms_rounded_down(zone: str | None) -> None:
    us = [0, 1, 999, 1_000, 1_760_000_000_123_999, 2**63 - 1]
    assert timestamps(us, zone) == [0, 0, 0, 1, 1_760_000_000_123, (2**63 - 1) // 1_000]


def test_null_timestamps_are_the_time_of_writing() -> None:
    assert timestamps([None, 5_000, None]) == [NOW, 5, NOW]
    assert timestamps([None, None]) == [NOW, NOW]


def test_a_timestamp_of_minus_one_is_kept() -> None:
    """The source reads a record without a timestamp as -1 ms, so a copy has none either."""
    assert timestamps([-1_000, 7_000]) == [-1, 7]


@pytest.mark.parametrize(
    ("us", "shown"),
    [
        (-1_001, "1969-12-31T23:59:59.998"),
        (-315_619_200_000_000, "1960-01-01T00:00:00.000"),
        (-(2**63) + 1, "-290308-12-21T19:59:05.224"),
    ],
)
def test_timestamps_before_1970_are_refused(us: int, shown: str) -> None:
    assert config_error(timestamps, [None, 1, us, 2]) == (
        f"A row has the timestamp {shown} UTC, and Kafka keeps no timestamp before 1970. Correct "
        "the column 'timestamp', or leave it null for the time of writing"
    )
