"""Some records of a topic, for people to look at."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.client.consumer.read_topics import ReadTopics
from kafka_protocol.columnar.arrays.schema import TIMESTAMP_MS
from kafka_protocol.columnar.reading.batch_columns import take_batch_columns
from kafka_protocol.columnar.reading.decode import decode_batches
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.planning.offsets_json import LATEST
from kafka_spark_source.planning.positions import Bound
from kafka_spark_source.tools.positions.positions import locate_all

if TYPE_CHECKING:
    import pyarrow as pa

# Enough rows for a screen, and few enough bytes if each is large.
_BATCH_BYTES: Final = 256 * 1024
_COLUMNS: Final = ("topic", "partition", "offset", TIMESTAMP_MS.name, "key", "value", "headers")
# How much further to look back each time.
_GROWTH: Final = 4


class PayloadTexts(NamedTuple):
    """The decoded payloads of a record, or the reason why they cannot be decoded.

    Attributes:
        formats: The columns that have a format: `key` or `value`, both, or no column.
        texts: Column -> the document of JSON that its payload is decoded to; not for null, and not
            for a broken payload.
        reason: Why a payload is broken; None if both are well-formed.
    """

    formats: frozenset[str]
    texts: Mapping[str, str]
    reason: str | None = None


# A batch with the columns below -> one for each row.
TextsOf: TypeAlias = "Callable[[pa.RecordBatch], Sequence[PayloadTexts]]"

NO_TEXTS: Final = PayloadTexts(frozenset(), {})


def as_they_came(batch: pa.RecordBatch) -> Sequence[PayloadTexts]:
    """Decode nothing."""
    return [NO_TEXTS] * batch.num_rows


class ShownRecord(NamedTuple):
    """A record. `timestamp_ms` is in ms since 1970; a header's value may be null.

    `key` and `value` are the bytes in the topic; `decoded` has them as documents of JSON.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    decoded: PayloadTexts = NO_TEXTS


def ranges_from(
    cluster: Cluster,
    partitions: Sequence[TopicPartition],
    start: Bound,
    deadline: Deadline,
    end: Bound = LATEST,
) -> list[OffsetRange]:
    """From a position to another one in each partition.

    Raises:
        KafkaError: A partition does not exist or cannot be read.
    """
    starts, ends = locate_all(cluster, partitions, (start, end), deadline)
    return [OffsetRange(tp, at.offset, ends[tp].offset) for tp, at in starts.items()]


def records_in(
    cluster: Cluster,
    ranges: Iterable[OffsetRange],
    deadline: Deadline,
    decode: TextsOf = as_they_came,
    topics: ReadTopics | None = None,
) -> Iterator[ShownRecord]:
    """The records of ranges, partition by partition.

    Args:
        cluster: The cluster.
        ranges: The ranges.
        deadline: When they must have been read.
        decode: How to decode payloads.
        topics: The topics of the ranges as these were planned, to check that they are the same.

    Raises:
        KafkaError: A range cannot be read before the deadline, or its topic was created again.
    """
    for each in ranges:
        if each.from_offset < each.until_offset:
            yield from _records(cluster, each, deadline, decode, topics)


def newest(
    cluster: Cluster,
    ranges: Iterable[OffsetRange],
    count: int,
    deadline: Deadline,
    decode: TextsOf = as_they_came,
) -> list[ShownRecord]:
    """The last records of all ranges together by their timestamps, the oldest first.

    Raises:
        KafkaError: A range cannot be read before the deadline.
    """
    records = (
        record for each in ranges for record in last_in(cluster, each, count, deadline, decode)
    )
    ordered = sorted(records, key=lambda each: (each.timestamp_ms, each.partition, each.offset))
    return ordered[-count:]


def last_in(
    cluster: Cluster,
    wanted: OffsetRange,
    count: int,
    deadline: Deadline,
    decode: TextsOf = as_they_came,
) -> Sequence[ShownRecord]:
    """The last records of a range, in order.

    Markers of transactions, aborted and compacted records leave offsets without a record, so this
    looks back until there are enough.

    Raises:
        KafkaError: The range cannot be read before the deadline.
    """
    records: deque[ShownRecord] = deque()
    tp, from_offset, until = wanted
    step = count
    while from_offset < until and len(records) < count:
        start = max(from_offset, until - step)
        earlier = _records(cluster, OffsetRange(tp, start, until), deadline, decode)
        records.extendleft(reversed(deque(earlier, maxlen=count - len(records))))
        until, step = start, step * _GROWTH
    return records


def _records(
    cluster: Cluster,
    wanted: OffsetRange,
    deadline: Deadline,
    decode: TextsOf,
    topics: ReadTopics | None = None,
) -> Iterator[ShownRecord]:
    idle_ms = max(1, int(deadline.remaining_ms))
    if topics is None:
        fetched = fetch_range(cluster, wanted, idle_ms, take=take_batch_columns)
    else:
        fetched = topics.fetch(wanted, idle_ms, take_batch_columns)
    for each in fetched:
        for batch in decode_batches(
            [each],
            _COLUMNS,
            max_decompressed_bytes=cluster.config.max_decompressed_bytes,
            target_bytes=_BATCH_BYTES,
        ):
            for row, decoded in zip(batch.to_pylist(), decode(batch), strict=True):
                headers = ((header["key"], header["value"]) for header in row["headers"] or ())
                yield ShownRecord(
                    row["topic"],
                    row["partition"],
                    row["offset"],
                    row[TIMESTAMP_MS.name],
                    row["key"],
                    row["value"],
                    tuple(headers),
                    decoded,
                )
