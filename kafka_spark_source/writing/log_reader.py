"""Reads the state of a commit log, from its newest snapshot on.

The read ends at the high watermark, and settles transactions by their markers: it does not wait for
the open transactions of other prefixes. Knows no decisions: that is `log_state`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.client.consumer.log_bounds import list_log_bounds
from kafka_protocol.records.batch import RecordBatch
from kafka_protocol.records.fetch_response import take_all_batches
from kafka_protocol.records.record import Record, decode_records
from kafka_protocol.records.transactions import SettledBatches
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.writing.log_state import LogState, Snapshot, newest_snapshot

# After so many folded records a new snapshot is written, so the read after it is short.
SNAPSHOT_AFTER_RECORDS: Final = 100

# How many offsets from the end a snapshot is looked for before the whole log is read. Drivers write
# one after a hundred records, and each of several may write some more before it sees that.
_LOOK_BACK: Final = (250, 5_000)


class LogView(NamedTuple):
    """A commit log at one moment.

    Attributes:
        state: The last decisions.
        until: The first offset that a new snapshot leaves to be folded.
        folded_records: How many records after the snapshot were folded.
        open_records: Records of transactions that are open.
    """

    state: LogState
    until: int
    folded_records: int
    open_records: list[Record]


def read_log(cluster: Cluster, topic_partition: TopicPartition, deadline: Deadline) -> LogView:
    """The state of a commit log up to the high watermark now.

    Raises:
        KafkaError: The log cannot be read.
    """
    start, end = list_log_bounds(cluster, [topic_partition], deadline)[topic_partition]
    read = _Reader(cluster, topic_partition)
    batches: list[RecordBatch] = []
    begin = end
    for offsets in _LOOK_BACK:
        earlier = max(start, end - offsets)
        batches = [*read.batches(earlier, begin), *batches]
        begin = earlier
        snapshot = newest_snapshot(record for batch in batches for record in read.records(batch))
        if snapshot is not None:
            rest = read.batches(max(start, snapshot.until), begin)
            return _fold(read, [*rest, *batches], snapshot, end)
        if begin == start:
            return _fold(read, batches, Snapshot(start, {}), end)
    return _fold(read, read.batches(start, end), Snapshot(start, {}), end)


def read_records(
    cluster: Cluster, topic_partition: TopicPartition, first_offset: int, last_offset: int
) -> dict[bytes, list[Record]]:
    """The records between two offsets, by key."""
    read = _Reader(cluster, topic_partition)
    by_key: dict[bytes, list[Record]] = {}
    for batch in read.batches(first_offset, last_offset + 1):
        for record in read.records(batch):
            by_key.setdefault(record.key or b"", []).append(record)
    return by_key


class _Reader(NamedTuple):
    cluster: Cluster
    topic_partition: TopicPartition

    def batches(self, from_offset: int, until_offset: int) -> Iterator[RecordBatch]:
        """Every batch between two offsets, control batches too."""
        wanted = OffsetRange(self.topic_partition, from_offset, until_offset)
        idle_ms = self.cluster.config.api_timeout_ms
        for fetched in fetch_range(self.cluster, wanted, idle_ms, take=take_all_batches):
            yield from fetched.batches

    def records(self, batch: RecordBatch) -> list[Record]:
        return decode_records(batch, self.cluster.config.max_decompressed_bytes)


def _fold(
    read: _Reader, batches: Iterator[RecordBatch] | list[RecordBatch], snapshot: Snapshot, end: int
) -> LogView:
    state, settled, count = LogState(snapshot.prefixes), SettledBatches(), 0
    for batch in batches:
        if batch.header.next_offset <= snapshot.until:
            continue
        for committed in settled.advance(batch):
            for record in read.records(committed):
                state.fold(record)
                count += 1
    open_records = [each for batch in settled.open_batches for each in read.records(batch)]
    until = min((batch.header.base_offset for batch in settled.open_batches), default=end)
    return LogView(state, until, count, open_records)
