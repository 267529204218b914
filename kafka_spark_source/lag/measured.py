"""The lag of positions in logs, measured on brokers: records, and the age of the first of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.consumer.log_bounds import list_log_bounds
from kafka_protocol.topic_partition import LogBounds, OffsetRange, TopicPartition, by_topic
from kafka_spark_source.planning.strategies import Subscribe
from kafka_spark_source.reading.assignment import resolve
from kafka_spark_source.tools.topics.record_times import record_times

if TYPE_CHECKING:
    from kafka_protocol.client.cluster.cluster import Cluster


class MeasuredLag(NamedTuple):
    """The lag of a query in one partition of a source.

    Attributes:
        source: The number of the source in the query, or its name.
        planned: The offset after the last record of the last micro-batch in the log.
        committed: The same of the last micro-batch that has ended; None if no micro-batch has.
        earliest: The first offset of the log; None if the partition is gone.
        latest: The end of the log; None if the partition is gone.
        behind_ms: The age of the first record that no committed micro-batch has read; 0 if all
            are read; None if the record cannot be read.
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
    def records(self) -> int | None:
        """The number of offsets still to be read, an upper limit of the records; None if gone."""
        if self.latest is None or self.earliest is None:
            return None
        return max(0, self.latest - max(self.position, self.earliest))

    @property
    def is_beyond(self) -> bool:
        """Whether the position is beyond the end of the log: the topic was re-created, or cut."""
        return self.latest is not None and self.position > self.latest

    @property
    def is_gone(self) -> bool:
        """Whether there is no such partition any more: what was not read of it is not known."""
        return self.latest is None

    @property
    def lost(self) -> int | None:
        """The number of offsets that retention has taken before they were read; None if gone."""
        return None if self.earliest is None else max(0, self.earliest - self.position)


def measure(
    source: str,
    planned: Mapping[TopicPartition, int],
    committed: Mapping[TopicPartition, int],
    cluster: Cluster,
    deadline: Deadline,
) -> list[MeasuredLag]:
    """The lag of each planned position, by topic and partition.

    Args:
        source: As `MeasuredLag` has it.
        planned: The end of the last micro-batch in the log, partition by partition.
        committed: The end of the last micro-batch that has ended.
        cluster: The cluster.
        deadline: When this must have ended. A record that is not read by then has no age.

    Raises:
        BrokerError: A topic may not be described or read.
        BrokerConnectionError, KafkaTimeoutError: A broker cannot be reached.
    """
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
        is_level = tp in unread and unread[tp].is_empty
        return 0 if is_level else None

    return [
        MeasuredLag(
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
    assignment = resolve(cluster, Subscribe(topics), deadline, known=topics, may_lack=topics)
    return list_log_bounds(cluster, partitions.intersection(assignment.existing), deadline)
