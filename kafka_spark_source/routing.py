"""Rows of an Arrow batch -> records, gathered by the partition that they go to.

Topic from the option or the column; partition from the column, else from the key, else the same
random one for all of a batch's rows without a key. Vectorised; no I/O: who knows how many
partitions a topic has is asked through a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_protocol.columnar.encode import RecordColumns
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.partitioner import partition_for_keys, sticky_partition
from kafka_spark_source.schema import SinkColumns


class Routed(NamedTuple):
    """The records of one partition, in the order of their rows."""

    topic_partition: TopicPartition
    records: RecordColumns


class Destination(NamedTuple):
    """Where rows go, besides what stands in them.

    Attributes:
        columns: Which column of a batch is what.
        topic: The topic of all rows; None where a column says it.
        partition_count: How many partitions a topic has.
    """

    columns: SinkColumns
    topic: str | None
    partition_count: Callable[[str], int]


def route(batch: pa.RecordBatch, to: Destination, timestamp_ms: int) -> Iterator[Routed]:
    """Gather the rows of a batch by topic and partition.

    Args:
        batch: As Spark hands it to a writer.
        to: Where its rows go.
        timestamp_ms: The time of all records.

    Raises:
        KafkaConfigError: A row has no topic, or names a partition that does not exist.
    """
    if not batch.num_rows:
        return
    value = _binary(batch, to.columns.value)
    key = _binary(batch, to.columns.key)
    partition = _column(batch, to.columns.partition)
    records = RecordColumns(
        key,
        value,
        np.full(len(value), timestamp_ms, dtype=np.int64),
        _column(batch, to.columns.headers),
    )
    for topic, rows in _rows_by_topic(_column(batch, to.columns.topic), to.topic):
        partitions = _partitions(
            _take(key, rows), _take(partition, rows), topic, to.partition_count(topic)
        )
        for number, picked in _rows_by_value(partitions):
            chosen = picked if rows is None else rows[picked]
            yield Routed(TopicPartition(topic, number), _pick(records, chosen))


def _column(batch: pa.RecordBatch, index: int | None) -> pa.Array | None:
    return None if index is None else batch.column(index)


def _binary(batch: pa.RecordBatch, index: int | None) -> pa.Array:
    column = _column(batch, index)
    return pa.nulls(batch.num_rows, pa.binary()) if column is None else column.cast(pa.binary())


_Rows: TypeAlias = npt.NDArray[np.int64]
_Partitions: TypeAlias = npt.NDArray[np.int32]


def _rows_by_topic(
    column: pa.Array | None, option: str | None
) -> Iterator[tuple[str, _Rows | None]]:
    """Each topic with its rows; None stands for all rows."""
    if option is not None:
        yield option, None
        return
    if column is None or column.null_count:
        raise KafkaConfigError(
            "[KAFKA_NULL_TOPIC_IN_DATA] The Kafka message data sent to the producer contains a "
            "null topic. Use the `topic` option for setting a default topic."
        )
    encoded = column.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    if len(names) == 1:
        yield names[0], None
        return
    for code, rows in _rows_by_value(encoded.indices.to_numpy(zero_copy_only=False)):
        yield names[code], rows


def _rows_by_value(values: _Partitions) -> Iterator[tuple[int, _Rows]]:
    """Each distinct value with its rows, in their order."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    edges = np.flatnonzero(np.diff(ordered)) + 1
    for rows in np.split(order, edges):
        yield int(values[rows[0]]), rows


def _partitions(key: pa.Array, column: pa.Array | None, topic: str, count: int) -> _Partitions:
    """The partition of each row: the column's, else the key's, else any."""
    hashed = partition_for_keys(key, count)
    partitions: _Partitions = np.where(hashed < 0, sticky_partition(count), hashed)
    if column is None:
        return partitions
    given = pc.fill_null(column, -1).to_numpy(zero_copy_only=False)
    is_given = column.is_valid().to_numpy(zero_copy_only=False)
    wrong = is_given & ((given < 0) | (given >= count))
    if wrong.any():
        raise KafkaConfigError(
            f"A row is for partition {given[np.argmax(wrong)]} of topic {topic!r}, which has "
            f"partitions 0 to {count - 1}. Correct the column 'partition', or leave it null"
        )
    chosen: _Partitions = np.where(is_given, given, partitions)
    return chosen


def _take(column: pa.Array | None, rows: _Rows | None) -> pa.Array | None:
    return column if column is None or rows is None else column.take(pa.array(rows))


def _pick(records: RecordColumns, rows: _Rows) -> RecordColumns:
    if len(rows) == len(records.value):  # they are in order already
        return records
    return RecordColumns(
        _take(records.key, rows),
        _take(records.value, rows),
        records.timestamp[rows],
        _take(records.headers, rows),
    )
