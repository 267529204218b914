"""Some records of a topic, for people to look at."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.columnar.batch_columns import take_batch_columns
from kafka_protocol.columnar.decode import decode_batches
from kafka_protocol.columnar.schema import TIMESTAMP_MS
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.planning.positions import Bound
from kafka_spark_source.tools.positions import locate

# Enough rows for a screen, and few enough bytes if each is large.
_BATCH_BYTES: Final = 256 * 1024
_COLUMNS: Final = ("topic", "partition", "offset", TIMESTAMP_MS.name, "key", "value", "headers")
# How much further to look back each time.
_GROWTH: Final = 4


class Record(NamedTuple):
    """A record. `timestamp_ms` is in ms since 1970; a header's value may be null."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def ranges_from(
    cluster: Cluster, partitions: Sequence[TopicPartition], start: Bound, deadline: Deadline
) -> list[OffsetRange]:
    """From a position to the present end of each partition.

    Raises:
        KafkaError: A partition does not exist or cannot be read.
    """
    located = locate(cluster, partitions, start, deadline)
    return [OffsetRange(tp, offset, log.latest) for tp, (log, offset) in located.items()]


def records_in(
    cluster: Cluster, ranges: Iterable[OffsetRange], deadline: Deadline
) -> Iterator[Record]:
    """The records of ranges, partition by partition.

    Raises:
        KafkaError: A range cannot be read before the deadline.
    """
    for each in ranges:
        if each.from_offset < each.until_offset:
            yield from _records(cluster, each, deadline)


def newest(
    cluster: Cluster, ranges: Iterable[OffsetRange], count: int, deadline: Deadline
) -> list[Record]:
    """The last records of all ranges together by their timestamps, the oldest first.

    Raises:
        KafkaError: A range cannot be read before the deadline.
    """
    records = (record for each in ranges for record in last_in(cluster, each, count, deadline))
    ordered = sorted(records, key=lambda each: (each.timestamp_ms, each.partition, each.offset))
    return ordered[-count:]


def last_in(
    cluster: Cluster, wanted: OffsetRange, count: int, deadline: Deadline
) -> Sequence[Record]:
    """The last records of a range, in order.

    Markers of transactions, aborted and compacted records leave offsets without a record, so this
    looks back until there are enough.

    Raises:
        KafkaError: The range cannot be read before the deadline.
    """
    records: deque[Record] = deque()
    tp, from_offset, until = wanted
    step = count
    while from_offset < until and len(records) < count:
        start = max(from_offset, until - step)
        earlier = _records(cluster, OffsetRange(tp, start, until), deadline)
        records.extendleft(reversed(deque(earlier, maxlen=count - len(records))))
        until, step = start, step * _GROWTH
    return records


def _records(cluster: Cluster, wanted: OffsetRange, deadline: Deadline) -> Iterator[Record]:
    fetched = fetch_range(
        cluster, wanted, max(1, int(deadline.remaining_ms)), take=take_batch_columns
    )
    for each in fetched:
        for batch in decode_batches(
            [each],
            _COLUMNS,
            max_decompressed_bytes=cluster.config.max_decompressed_bytes,
            target_bytes=_BATCH_BYTES,
        ):
            for row in batch.to_pylist():
                headers = ((header["key"], header["value"]) for header in row["headers"] or ())
                yield Record(
                    row["topic"],
                    row["partition"],
                    row["offset"],
                    row[TIMESTAMP_MS.name],
                    row["key"],
                    row["value"],
                    tuple(headers),
                )
