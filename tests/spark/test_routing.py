"""Rows to partitions: every row once, in order, where Java's producer would send it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.partitioner import murmur2
from kafka_spark_source.routing import Destination, Routed, route
from kafka_spark_source.schema import SinkColumns

SCHEMA = pa.schema(
    [
        ("value", pa.string()),
        ("key", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("ignored", pa.int64()),
    ]
)
COLUMNS = SinkColumns(value=0, key=1, topic=2, partition=3, headers=None)
PARTITIONS = {"a": 3, "b": 7}
ROW = st.fixed_dictionaries(
    {
        "value": st.none() | st.text(max_size=3),
        "key": st.none() | st.text(max_size=3),
        "topic": st.sampled_from(["a", "b"]),
        "partition": st.none() | st.integers(0, 2),
        "ignored": st.just(0),
    }
)


def routed(
    rows: list[dict[str, Any]], columns: SinkColumns = COLUMNS, topic: str | None = None
) -> list[Routed]:
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
    return [*route(batch, Destination(columns, topic, PARTITIONS.__getitem__), 1_234)]


def encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


@given(rows=st.lists(ROW, max_size=30))
def test_every_row_once_in_order_and_in_its_place(rows: list[dict[str, Any]]) -> None:
    found = routed(rows)
    assert len({part.topic_partition for part in found}) == len(found)
    keyless = set()
    for (topic, partition), records in found:
        keys, values = records.key.to_pylist(), records.value.to_pylist()
        assert len(keys) == len(values) == len(records.timestamp)
        assert set(records.timestamp) == {1_234}
        mine = []
        for row in rows:
            if row["topic"] != topic:
                continue
            place = row["partition"]
            if place is None and row["key"] is not None:
                place = (murmur2(row["key"].encode()) & 0x7FFFFFFF) % PARTITIONS[topic]
            pair = (encoded(row["key"]), encoded(row["value"]))
            if place is None:
                # Anywhere, but all of a topic's together.
                if pair in zip(keys, values, strict=True):
                    keyless.add((topic, partition))
                continue
            if place == partition:
                mine.append(pair)
        placed = [pair for pair in zip(keys, values, strict=True) if pair in mine]
        assert [pair for pair in placed if pair[0] is not None] == [
            pair for pair in mine if pair[0] is not None
        ]
    assert sum(len(part.records.value) for part in found) == len(rows)


def test_the_option_wins_over_the_column() -> None:
    columns = SinkColumns(value=0, key=None, topic=None, partition=3, headers=None)
    row = {"value": "v", "key": "k", "topic": "b", "partition": 1, "ignored": 0}
    ((topic_partition, records),) = routed([row], columns, "a")
    assert topic_partition == TopicPartition("a", 1)
    assert records.key.to_pylist() == [None]


def test_rows_without_a_key_stay_together() -> None:
    row = {"value": "v", "key": None, "topic": "b", "partition": None, "ignored": 0}
    ((_, records),) = routed([row] * 50)
    assert len(records.value) == 50


def test_null_topic() -> None:
    row = {"value": "v", "key": None, "topic": None, "partition": None, "ignored": 0}
    with pytest.raises(KafkaConfigError, match=r"\[KAFKA_NULL_TOPIC_IN_DATA\]"):
        routed([row])


@pytest.mark.parametrize("partition", [-1, 3])
def test_partition_that_does_not_exist(partition: int) -> None:
    row = {"value": "v", "key": "k", "topic": "a", "partition": partition, "ignored": 0}
    with pytest.raises(KafkaConfigError, match=f"partition {partition} of topic 'a'.*0 to 2"):
        routed([row])
