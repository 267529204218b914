"""The topics of one read: their ids and partitions at its start, and the records written since.

A read that follows continues at offsets. They mean nothing in a topic that was created again, and
records are missing before them in a log that was cut. So each look at the logs compares the ids and
the ends first, and raises: never a gap, and never records of another topic at these offsets.
`topic_identity` waits for brokers with old metadata. Knows no positions but offsets.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

from kafka_protocol.client.clock import Deadline, pause_before_retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.exchange import group_by_leader
from kafka_protocol.client.cluster.metadata import Topic, has_topic_id
from kafka_protocol.client.consumer.fetch import check_position, fetch_rest
from kafka_protocol.client.consumer.fetch_request import PartlyRead
from kafka_protocol.client.consumer.list_offsets import list_offsets
from kafka_protocol.client.consumer.topic_identity import TopicIdentity, is_unknown_topic
from kafka_protocol.errors import BrokerError, DataLossError, ErrorCode, KafkaError
from kafka_protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_protocol.records.batch import BatchHeader
from kafka_protocol.records.fetch_response import (
    UNKNOWN_EPOCH,
    Fetched,
    TakeBatches,
    take_batches,
)
from kafka_protocol.topic_partition import OffsetRange, TopicPartition

_UNCOMMITTED: Final = "read_uncommitted"


class ReadTopics:
    """The topics of one read. Not for several threads at once. Never closes the cluster.

    Args:
        cluster: The cluster.
        names: The topics.
        numbers: The partitions to read; None for all, also partitions that are added later.
        deadline: When the brokers must have responded.

    Attributes:
        partitions: The partitions of the read now, by topic and number.
        topic_ids: The ids of the topics as the read began; brokers below Kafka 2.8 have none.

    Raises:
        BrokerError: A topic or a partition does not exist, or reading is not permitted.
        KafkaError: No broker is reachable.
    """

    def __init__(
        self,
        cluster: Cluster,
        names: Sequence[str],
        numbers: Collection[int] | None,
        deadline: Deadline,
    ) -> None:
        self._cluster = cluster
        self._numbers = numbers
        topics = {name: self._settled(name, deadline) for name in dict.fromkeys(names)}
        self.topic_ids: dict[str, uuid.UUID] = {
            name: topic.topic_id for name, topic in topics.items() if has_topic_id(topic)
        }
        # The end of the last batch that was read of each partition, and its leader epoch.
        self._read_to: dict[TopicPartition, tuple[int, int]] = {}
        # The leader epoch at which the log of a partition was last checked to end with that batch.
        self._checked: dict[TopicPartition, int] = {}
        self._by_topic = {name: self._chosen(topic) for name, topic in topics.items()}

    def __repr__(self) -> str:
        return f"<ReadTopics {', '.join(self._by_topic)}: {len(self.partitions)} partitions>"

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions of the read now, by topic and number."""
        return [tp for chosen in self._by_topic.values() for tp in chosen]

    def new_ranges(
        self, positions: Mapping[TopicPartition, int], *, timeout_ms: float | None = None
    ) -> list[OffsetRange]:
        """The ranges written after some positions; partitions without a position from their start.

        Args:
            positions: The next offset of each partition.
            timeout_ms: How long brokers may take for a response; by default the client's.

        Raises:
            DataLossError: A topic was deleted or created again (TopicGoneError), a log ends
                before a position, or it was cut and has grown to it (LogTruncatedError).
            KafkaError: As from `list_offsets`.
        """
        config = self._cluster.config
        if timeout_ms is None:
            timeout_ms = config.api_timeout_ms
        identities: dict[str, TopicIdentity] = {}
        doubted: Deadline | None = None
        failures = 0
        while True:
            deadline = Deadline.after(timeout_ms)
            for name in self._by_topic:
                self._refresh(name, identities, positions, deadline)
            try:
                ranges, beyond = self._ranges(positions, deadline)
            except BrokerError as error:
                if not is_unknown_topic(error):
                    raise
                # Perhaps deleted since the look at the metadata above, which the next one shows.
                ranges, beyond = [], {}
                doubted = doubted or Deadline.after(config.topic_propagation_max_ms)
                if doubted.has_passed:
                    raise
            else:
                if not beyond:
                    self._check_ends(positions, ranges, deadline)
                    return ranges
                # A topic that was created again has a shorter log at first, and says so better.
                doubted = doubted or Deadline.after(config.times.topic_changed_ms)
                if doubted.has_passed:
                    raise _shorter(positions, beyond)
            pause_before_retry(config, failures)
            failures += 1

    def fetch(
        self, wanted: OffsetRange, idle_timeout_ms: int, take: TakeBatches = take_batches
    ) -> Iterator[Fetched]:
        """Read a range, as `fetch_range` does, of the topic that the read began with.

        Raises:
            LogTruncatedError: The log was cut before the range, and has grown since.
            KafkaError: As from `fetch_range`.
        """
        tp = wanted.topic_partition
        reading = self._reading(wanted)
        for fetched in fetch_rest(self._cluster, reading, idle_timeout_ms, take):
            header = fetched.batches[-1].header
            epoch = UNKNOWN_EPOCH  # in the old formats
            if isinstance(header, BatchHeader):
                epoch = header.partition_leader_epoch
            self._read_to[tp] = header.next_offset, epoch
            yield fetched
            del fetched  # so that the next response can have its memory

    def _reading(self, wanted: OffsetRange) -> PartlyRead:
        """A range, with the leader epoch of the batch before it."""
        tp = wanted.topic_partition
        offset, epoch = self._read_to.get(tp, (0, UNKNOWN_EPOCH))
        if offset != wanted.from_offset:
            epoch = UNKNOWN_EPOCH  # of a batch that was left out, such as a marker
        return PartlyRead(wanted, self.topic_ids.get(tp.topic), epoch)

    def _check_ends(
        self,
        positions: Mapping[TopicPartition, int],
        ranges: Sequence[OffsetRange],
        deadline: Deadline,
    ) -> None:
        """Check the logs without new records whose leader has changed since their last batch."""
        ends = (self._read_to.keys() & positions.keys()) - {each.topic_partition for each in ranges}
        by_leader, _without_leader = group_by_leader(self._cluster, ends, deadline)
        for tp, (leader, _) in [led for group in by_leader.values() for led in group.items()]:
            reading = self._reading(OffsetRange(tp, positions[tp], positions[tp]))
            known = UNKNOWN_EPOCH, reading.epoch, self._checked.get(tp)
            if reading.epoch != UNKNOWN_EPOCH and leader.epoch not in known:
                check_position(self._cluster, reading, self._cluster.config.request_timeout_ms)
                self._checked[tp] = leader.epoch

    def _refresh(
        self,
        name: str,
        identities: dict[str, TopicIdentity],
        positions: Mapping[TopicPartition, int],
        deadline: Deadline,
    ) -> None:
        """Look for new partitions of a topic, after a check that it is still the same."""
        first = self._by_topic[name][0]
        if name not in identities:
            identities[name] = TopicIdentity(self._cluster, first, self.topic_ids.get(name))
        while True:
            try:
                topic = self._settled(name, deadline, may_lack=True)
                identities[name].check(topic)
                now = self._chosen(topic)
                if missing := set(self._by_topic[name]) - set(now):
                    raise _unknown_partition(min(missing), topic)
            except KafkaError as error:
                if not is_unknown_topic(error):
                    raise
                identities[name].wait_after(error, positions.get(first, 0))
            else:
                self._by_topic[name] = now
                return

    def _settled(self, name: str, deadline: Deadline, *, may_lack: bool = False) -> Topic:
        lacking = [name] if may_lack else []
        topic = self._cluster.settled_topics([name], deadline, may_lack=lacking)[name]
        if topic.error_code:
            raise BrokerError(topic.error_code, f"Cannot read topic {name!r}")
        return topic

    def _chosen(self, topic: Topic) -> list[TopicPartition]:
        numbers = topic.partitions if self._numbers is None else self._numbers
        chosen = [TopicPartition(topic.name, number) for number in sorted(set(numbers))]
        missing = [each for each in chosen if each.partition not in topic.partitions]
        if missing:
            raise _unknown_partition(missing[0], topic)
        return chosen

    def _ranges(
        self, positions: Mapping[TopicPartition, int], deadline: Deadline
    ) -> tuple[list[OffsetRange], dict[TopicPartition, int]]:
        """The ranges that have records, and the ends of logs before their positions."""
        chosen = self.partitions
        added = dict.fromkeys((tp for tp in chosen if tp not in positions), EARLIEST_TIMESTAMP)
        first = {**positions, **list_offsets(self._cluster, added, deadline)}
        until = list_offsets(self._cluster, dict.fromkeys(chosen, LATEST_TIMESTAMP), deadline)
        beyond = {tp: first[tp] for tp in chosen if until[tp] < first[tp]}
        ranges = [OffsetRange(tp, first[tp], until[tp]) for tp in chosen if first[tp] < until[tp]]
        return ranges, ends_before(self._cluster, beyond, deadline)


def ends_before(
    cluster: Cluster, positions: Mapping[TopicPartition, int], deadline: Deadline
) -> dict[TopicPartition, int]:
    """The ends of the logs that end before a position.

    Records of open transactions count: with read_committed, a log seems to end before them.

    Raises:
        KafkaError: As from `list_offsets`.
    """
    if not positions:
        return {}
    latest = dict.fromkeys(positions, LATEST_TIMESTAMP)
    if cluster.config.isolation_level == _UNCOMMITTED:
        ends = list_offsets(cluster, latest, deadline)
    else:
        config = replace(cluster.config, isolation_level=_UNCOMMITTED)
        with closing(Cluster(config)) as uncommitted:
            ends = list_offsets(uncommitted, latest, deadline)
    return {tp: end for tp, end in ends.items() if end < positions[tp]}


def _shorter(
    positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> DataLossError:
    tp = min(ends)
    return DataLossError(
        "PARTITION_OFFSET_CHANGED",
        f"The read stands at offset {positions[tp]} of {tp}, whose log ends at {ends[tp]}.",
        "The topic was created again, or lost records. Start a new read.",
    )


def _unknown_partition(tp: TopicPartition, topic: Topic) -> BrokerError:
    return BrokerError(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        f"Cannot read partition {tp.partition} of topic {tp.topic!r}, which has "
        f"{len(topic.partitions)}",
    )
