"""How far a streaming query is behind: offsets of its checkpoint against those of brokers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Final, NamedTuple

from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.fetch_request import PartlyRead
from kafka_protocol.client.consumer.fetch_together import FetchTogether
from kafka_protocol.columnar.batch_columns import take_batch_columns
from kafka_protocol.columnar.decode import decode_batches
from kafka_protocol.topic_partition import LogBounds, OffsetRange, TopicPartition, by_topic
from kafka_spark_source.planning.strategies import Subscribe
from kafka_spark_source.reading.assignment import resolve
from kafka_spark_source.tools.checkpoints import Checkpoint
from kafka_spark_source.tools.positions import bounds_of_logs

_TIMES: Final = ("topic", "partition", "offset", "timestamp")


class PartitionLag(NamedTuple):
    """How far a query is behind in one partition of a source.

    Attributes:
        source: The number of the source in the query, or its name.
        planned: The offset after the last record of the last micro-batch in the log.
        committed: The same of the last micro-batch that has ended; None if none has.
        earliest: The first offset of the log; None if the partition is gone.
        latest: The end of the log; None if the partition is gone.
        behind_ms: The age of the first record that no committed micro-batch has read; 0 if there is
            none; None if the record cannot be read.
    """

    source: str
    topic: str
    partition: int
    planned: int
    committed: int | None
    earliest: int | None
    latest: int | None
    behind_ms: int | None

    @property
    def position(self) -> int:
        """The first offset that no committed micro-batch has read."""
        return self.committed or 0

    @property
    def records(self) -> int:
        """The number of offsets still to be read, an upper limit of the records."""
        if self.latest is None or self.earliest is None:
            return 0
        return max(0, self.latest - max(self.position, self.earliest))

    @property
    def lost(self) -> int:
        """The number of offsets that retention has taken before they were read."""
        return 0 if self.earliest is None else max(0, self.earliest - self.position)


class QueryLag(NamedTuple):
    """How far a query is behind.

    Attributes:
        micro_batch: The number of the last micro-batch in the log.
        is_unfinished: Whether it has not ended: it runs, or the query failed in it.
        planned_at_ms: When it was planned, in ms since 1970; 0 if the log does not say.
        partitions: By source, topic and number.
    """

    checkpoint: str
    query_id: str
    micro_batch: int
    is_unfinished: bool
    planned_at_ms: int
    partitions: tuple[PartitionLag, ...]


def lag_of(checkpoint: Checkpoint, cluster: Cluster, deadline: Deadline) -> QueryLag:
    """Compare a checkpoint with the logs of its topics.

    Raises:
        BrokerError: A topic may not be described or read.
        BrokerConnectionError, KafkaTimeoutError: A broker cannot be reached.
    """
    last, committed = checkpoint.micro_batches[-1], checkpoint.last_committed
    ended = {} if committed is None else committed.ends
    logs = _logs(cluster, {tp for ends in last.ends.values() for tp in ends}, deadline)
    positions = [
        (source, tp, ended.get(source, {}).get(tp))
        for source, ends in last.ends.items()
        for tp in ends
    ]
    unread = {
        (source, tp): OffsetRange(tp, max(committed or 0, logs[tp].earliest), logs[tp].latest)
        for source, tp, committed in positions
        if tp in logs
    }
    times = {
        source: record_times(
            cluster,
            {each: wanted for (of, each), wanted in unread.items() if of == source},
            deadline,
        )
        for source in last.ends
    }
    now = now_ms()

    def behind(source: str, tp: TopicPartition) -> int | None:
        if (source, tp) not in unread or tp not in times[source]:
            wanted = unread.get((source, tp))
            is_level = wanted is not None and wanted.from_offset >= wanted.until_offset
            return 0 if is_level else None
        return max(0, now - times[source][tp])

    return QueryLag(
        checkpoint.location,
        checkpoint.query_id,
        last.number,
        not last.is_committed,
        last.planned_at_ms,
        tuple(
            PartitionLag(
                source,
                *tp,
                last.ends[source][tp],
                offset,
                logs[tp].earliest if tp in logs else None,
                logs[tp].latest if tp in logs else None,
                behind(source, tp),
            )
            for source, tp, offset in sorted(positions, key=lambda each: each[:2])
        ),
    )


def _logs(
    cluster: Cluster, partitions: set[TopicPartition], deadline: Deadline
) -> dict[TopicPartition, LogBounds]:
    """The ends of the logs of the partitions that exist."""
    topics = tuple(sorted(by_topic(partitions)))
    found = resolve(cluster, Subscribe(topics), deadline, known=topics, may_lack=topics)
    return bounds_of_logs(cluster, partitions.intersection(found.existing), deadline)


def record_times(
    cluster: Cluster, wanted: Mapping[TopicPartition, OffsetRange], deadline: Deadline
) -> dict[TopicPartition, int]:
    """The timestamp of the first record of each range, in ms since 1970.

    A range without one, such as one with markers of transactions only, is left out; so is one whose
    leader does not respond at once.
    """
    readings = {
        tp: PartlyRead(each, None)
        for tp, each in wanted.items()
        if each.from_offset < each.until_offset
    }
    found: dict[TopicPartition, int] = {}
    with closing(FetchTogether(cluster, readings.values(), take_batch_columns)) as fetching:
        for tp in readings:
            if deadline.has_passed:
                break
            for fetched in fetching.fetched_of(tp):
                batch = next(decode_batches([fetched], _TIMES), None)
                if batch is not None:
                    found[tp] = batch.column("timestamp").cast("int64")[0].as_py() // 1000
                    break
    return found
