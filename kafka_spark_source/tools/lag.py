"""How far a streaming query is behind: offsets of its checkpoint against those of brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import Final, NamedTuple

from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.groups import committed_offsets
from kafka_protocol.client.consumer.fetch_request import PartlyRead
from kafka_protocol.client.consumer.fetch_together import FetchTogether
from kafka_protocol.columnar.batch_columns import take_batch_columns
from kafka_protocol.columnar.decode import decode_batches
from kafka_protocol.errors import KafkaError
from kafka_protocol.topic_partition import LogBounds, OffsetRange, TopicPartition, by_topic
from kafka_spark_source.planning.strategies import Subscribe
from kafka_spark_source.prometheus import Gauge
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
    def is_beyond(self) -> bool:
        """Whether the position is behind the end of the log: the topic is another one, or cut."""
        return self.latest is not None and self.position > self.latest

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


class GroupLag(NamedTuple):
    """How far a consumer group is behind.

    Attributes:
        partitions: By topic and number. `source` is empty, and `planned` is `committed`.
    """

    group: str
    partitions: tuple[PartitionLag, ...]


def lag_of(checkpoint: Checkpoint, cluster: Cluster, deadline: Deadline) -> QueryLag:
    """Compare a checkpoint with the logs of its topics.

    Raises:
        BrokerError: A topic may not be described or read.
        BrokerConnectionError, KafkaTimeoutError: A broker cannot be reached.
    """
    last, committed = checkpoint.micro_batches[-1], checkpoint.last_committed
    ended = {} if committed is None else committed.ends
    lags = [
        each
        for source, ends in sorted(last.ends.items())
        for each in _lags(source, ends, ended.get(source, {}), cluster, deadline)
    ]
    return QueryLag(
        checkpoint.location,
        checkpoint.query_id,
        last.number,
        not last.is_committed,
        last.planned_at_ms,
        tuple(lags),
    )


def group_lag(group: str, cluster: Cluster, deadline: Deadline) -> GroupLag:
    """Compare the offsets that a consumer group has committed with the logs of their topics.

    Raises:
        KafkaError: The group has committed none, or as from `lag_of` and `committed_offsets`.
    """
    offsets = committed_offsets(cluster, group, None, deadline)
    if not offsets:
        raise KafkaError(f"The group {group!r} has committed no offsets, or has been forgotten.")
    return GroupLag(group, tuple(_lags("", offsets, offsets, cluster, deadline)))


def _lags(
    source: str,
    planned: Mapping[TopicPartition, int],
    committed: Mapping[TopicPartition, int],
    cluster: Cluster,
    deadline: Deadline,
) -> list[PartitionLag]:
    """The lag in each partition, in order."""
    logs = _logs(cluster, {*planned}, deadline)
    unread = {
        tp: OffsetRange(tp, max(committed.get(tp, 0), log.earliest), log.latest)
        for tp, log in logs.items()
    }
    times = record_times(cluster, unread, deadline)
    now = now_ms()

    def behind(tp: TopicPartition) -> int | None:
        if tp in times:
            return max(0, now - times[tp])
        is_level = tp in unread and unread[tp].from_offset >= unread[tp].until_offset
        return 0 if is_level else None

    return [
        PartitionLag(
            source,
            *tp,
            planned[tp],
            committed.get(tp),
            logs[tp].earliest if tp in logs else None,
            logs[tp].latest if tp in logs else None,
            behind(tp),
        )
        for tp in sorted(planned)
    ]


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


# Name, description and value of the gauges of a partition.
_GAUGES: Final[tuple[tuple[str, str, Callable[[PartitionLag], float | None]], ...]] = (
    ("pykafka_lag_records", "Records that are not read yet.", lambda lag: lag.records),
    (
        "pykafka_lag_seconds",
        "The age of the first unread record.",
        lambda lag: None if lag.behind_ms is None else lag.behind_ms / 1000,
    ),
    ("pykafka_lost_records", "Records that retention took unread.", lambda lag: lag.lost),
)


def gauges_of(lags: Iterable[QueryLag | GroupLag]) -> list[Gauge]:
    """Lags as gauges for Prometheus. The label `query` is the checkpoint, or the group."""
    labelled = [
        (
            {
                "query": of.group if isinstance(of, GroupLag) else of.checkpoint,
                "source": each.source,
                "topic": each.topic,
                "partition": str(each.partition),
            },
            each,
        )
        for of in lags
        for each in of.partitions
    ]
    return [
        Gauge(
            name,
            description,
            [(labels, value) for labels, lag in labelled if (value := value_of(lag)) is not None],
        )
        for name, description, value_of in _GAUGES
    ]
