"""Rows of an Arrow batch -> records, grouped by the partition that they go to.

The topic comes from the option or the column; the partition from the column, else from the task's
partitioner; the timestamp from the column, else one for all rows. Vectorised, without I/O: a
function argument returns the partition count of a topic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_protocol.columnar.arrays.arrow_memory import indices_of, is_valid, numbers_of
from kafka_protocol.columnar.arrays.grouping import grouped
from kafka_protocol.columnar.arrays.slices import combined
from kafka_protocol.columnar.arrays.views import check_binary_size
from kafka_protocol.columnar.writing.encode import Gathered, RecordColumns
from kafka_protocol.columnar.writing.partitioning import (
    Partitions,
    RowsToPartition,
    TaskPartitioner,
    WrittenTopic,
)
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition

_Longs: TypeAlias = npt.NDArray[np.int64]
_Indices: TypeAlias = npt.NDArray[np.int32]


class Routed(NamedTuple):
    """Records grouped by partition, in the order of their rows, and the partition of each group."""

    gathered: Gathered
    topic_partitions: list[TopicPartition]


class Destination(NamedTuple):
    """The topic and partition of a task's rows, unless a row has its own.

    Attributes:
        columns: The index of each sink column in a batch.
        topic: The topic of all rows; None if a column holds it.
        partition_count: Returns the number of partitions of a topic.
        partitioner: The task's own partitioner, for rows without a partition.
    """

    columns: SinkColumns
    topic: str | None
    partition_count: Callable[[str], int]
    partitioner: TaskPartitioner


def route(table: pa.Table, to: Destination, timestamp_ms: int) -> Routed:
    """Group the rows of a table by topic and partition, without copying values.

    Args:
        table: Batches as Spark passes them to a writer; at least one row.
        to: Where its rows go.
        timestamp_ms: The timestamp of rows without one, in ms since 1970.

    Raises:
        KafkaConfigError: A row has no topic, names a partition that does not exist, or has a
            timestamp that Kafka cannot store.
    """
    columns = to.columns
    records = RecordColumns(
        combined(_binary(table, columns.key)),
        _binary(table, columns.value),
        _timestamps(_column(table, columns.timestamp), table.num_rows, timestamp_ms),
        _column(table, columns.headers),
    )
    names, topic = _topics(_column(table, columns.topic), to.topic, table.num_rows)
    topics = [WrittenTopic(name, to.partition_count(name)) for name in names]
    rows = RowsToPartition(topics, topic, records.key, records.value)
    partition = _partitions(rows, _column(table, columns.partition), to.partitioner)
    # All partitions of all topics are numbered in one sequence: topic by topic.
    first = np.cumsum([0, *(count for _, count in topics)])
    groups = grouped(first[topic] + partition)
    indices = np.searchsorted(first, groups.numbers, side="right") - 1
    numbers = np.array(groups.numbers) - first[indices]
    return Routed(
        Gathered(records, groups.order, groups.starts),
        [
            TopicPartition(topics[index].name, number)
            for index, number in zip(indices.tolist(), numbers.tolist(), strict=True)
        ],
    )


def _column(table: pa.Table, index: int | None) -> pa.Array | None:
    return None if index is None else combined(table.column(index))


def _binary(table: pa.Table, index: int | None) -> pa.Array | pa.ChunkedArray:
    if index is None:
        return pa.nulls(table.num_rows, pa.binary())
    column = table.column(index)
    for array in column.chunks:
        check_binary_size(array)
    return column.cast(pa.binary())


def _topics(
    column: pa.Array | None, option: str | None, num_rows: int
) -> tuple[Sequence[str], _Indices]:
    """The names of topics, and for each row the index of its topic."""
    if option is not None:
        return [option], np.zeros(num_rows, dtype=np.int32)
    if column is None or column.null_count:
        raise KafkaConfigError(
            "[KAFKA_NULL_TOPIC_IN_DATA] The Kafka message data sent to the producer contains a "
            "null topic. Use the `topic` option for setting a default topic."
        )
    encoded = column.dictionary_encode()
    return encoded.dictionary.to_pylist(), numbers_of(encoded.indices)


def _partitions(
    rows: RowsToPartition, column: pa.Array | None, partitioner: TaskPartitioner
) -> Partitions:
    """The partition of each row: the column's, else the partitioner's choice."""
    if column is None or column.null_count == len(column):
        return partitioner.choose(rows)
    is_given = is_valid(column)
    given: Partitions = np.where(is_given, numbers_of(column), -1)
    counts = np.array([count for _, count in rows.topics], dtype=np.int32)
    wrong = np.flatnonzero(is_given & ((given < 0) | (given >= counts[rows.topic])))
    if wrong.size:
        topic, count = rows.topics[rows.topic[wrong[0]]]
        raise KafkaConfigError(
            f"A row is for partition {given[wrong[0]]} of topic {topic!r}, which has "
            f"partitions 0 to {count - 1}. Correct the column 'partition', or leave it null"
        )
    if not column.null_count:
        return given
    others = np.flatnonzero(~is_given)
    picked = indices_of(others)
    chosen: Partitions = given.copy()
    chosen[others] = partitioner.choose(
        rows._replace(
            topic=rows.topic[others], key=rows.key.take(picked), value=rows.value.take(picked)
        )
    )
    return chosen


# Kafka's timestamp of a record without one, in ms: the source returns it, so it can be copied.
_NO_TIMESTAMP: Final = -1


def _timestamps(column: pa.Array | None, num_rows: int, now_ms: int) -> _Longs:
    """The timestamp of each record in ms, rounded down from the column's microseconds."""
    if column is None or column.null_count == len(column):
        return np.full(num_rows, now_ms, dtype=np.int64)
    is_given = is_valid(column)
    given = np.where(is_given, numbers_of(column), 0) // 1_000
    wrong = np.flatnonzero(given < _NO_TIMESTAMP)
    if wrong.size:
        raise KafkaConfigError(
            f"A row has the timestamp {np.datetime64(int(given[wrong[0]]), 'ms')} UTC, and Kafka "
            "keeps no timestamp before 1970. Correct the column 'timestamp', or leave it null for "
            "the time of writing"
        )
    if not column.null_count:
        return given
    timestamps: _Longs = np.where(is_given, given, now_ms)
    return timestamps
