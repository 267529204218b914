"""What the cluster holds of a stream's partitions, requested by the driver of a running query.

Connections live as long as the query. The partitions are requested again after
metadata.max.age.ms, the ends of logs each time. A missing partition, or another topic id, is
requested again until metadata has had time to spread (topic.metadata.propagation.max.ms), or until
every broker lacks the topic: a single broker may be behind.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet

from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Topic
from kafka_protocol.client.consumer.deleted_topics import DeletedTopics
from kafka_protocol.client.consumer.list_offsets import OffsetsPoll, list_offsets
from kafka_protocol.client.consumer.topic_identity import AnotherIdCounter, is_unknown_topic
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST, join_partitions
from kafka_spark_source.planning.strategies import Strategy, names_of
from kafka_spark_source.planning.stream import LogEndOffsets
from kafka_spark_source.reading.assignment import Assignment, assignment_of, request_topics


class StreamLogs:
    """The partitions of one query. Not for several threads at once. Never closes the cluster.

    With `partitions_ttl_ms`, the partitions are requested again after this time, not after
    metadata.max.age.ms.
    """

    def __init__(
        self, cluster: Cluster, strategy: Strategy, *, partitions_ttl_ms: int | None = None
    ) -> None:
        self._cluster = cluster
        self._strategy = strategy
        self._ttl_ms = partitions_ttl_ms or cluster.config.metadata_max_age_ms
        self._topics: Collection[Topic] = ()  # those of the assignment
        self._assignment: Assignment | None = None
        self._fresh_until = Deadline.after(0)
        self._ids: dict[str, uuid.UUID] = {}  # of the topics that the query has read
        self._replaced_ids: set[uuid.UUID] = set()  # of topics that were re-created since
        self._poll: OffsetsPoll | None = None
        self._polled: Assignment | None = None
        self._known: AbstractSet[TopicPartition] = frozenset()  # that were all found then

    def __repr__(self) -> str:
        count = "unknown" if self._assignment is None else len(self._assignment.existing)
        return f"<StreamLogs of {count} partitions, {self._cluster!r}>"

    def initial_assignment(self, deadline: Deadline) -> Assignment:
        """The partitions of a new query.

        Raises:
            BrokerError: A named topic does not exist, or a topic may not be read.
        """
        return self._resolve((), deadline)

    def assignment(self, deadline: Deadline) -> Assignment:
        """The partitions of a running query; a deleted topic is no error here.

        Raises:
            BrokerError: A topic may not be read, or a broker is so far behind that it returns the
                id of a deleted topic.
        """
        if self._assignment is None or self._fresh_until.has_passed:
            return self._resolve(names_of(self._strategy), deadline)
        return self._assignment

    def invalidate_partitions(self) -> None:
        """Make the next call request the partitions again, however fresh they are."""
        self._fresh_until = Deadline.after(0)

    def _resolve(self, known: Collection[str], deadline: Deadline) -> Assignment:
        # Later, `latest_offsets` waits for topics, but not for those that are gone for good.
        may_lack = () if self._assignment is None else known
        topics = request_topics(self._cluster, self._strategy, deadline, known, may_lack)
        if self._assignment is None or topics != self._topics:
            found = assignment_of(self._strategy, topics)
            if not self._replaced_ids.isdisjoint(found.topic_ids.values()):
                raise _stale_metadata("a broker returns the id of a deleted topic")
            self._topics, self._assignment = topics, found
            self._ids = {**found.topic_ids, **self._ids}
        self._fresh_until = Deadline.after(self._ttl_ms)
        return self._assignment

    def topic_ids(
        self, partitions: Collection[TopicPartition], deadline: Deadline
    ) -> Mapping[str, uuid.UUID]:
        """The ids of the topics that the query reads; brokers below 2.8 return none."""
        if any(tp.topic not in self._ids for tp in partitions):
            self.assignment(deadline)
        return self._ids

    def latest_offsets(
        self,
        known: AbstractSet[TopicPartition],
        deadline: Deadline,
        gone: AbstractSet[TopicPartition] = frozenset(),
    ) -> LogEndOffsets:
        """The ends of the logs now.

        Args:
            known: The partitions that were read before.
            deadline: When to give up. A wait for metadata to spread does not count: the requests
                after it have default.api.timeout.ms again.
            gone: Those of them that may be missing: do not wait for them.

        Returns:
            The ends of all partitions that exist. A known partition is missing only if brokers did
            not know it for topic.metadata.propagation.max.ms, or if its topic is deleted according
            to `DeletedTopics`. A topic counts as re-created after a second, and is reported so
            once.

        Raises:
            KafkaError: The cluster cannot be reached, or a broker refuses.
        """
        config = self._cluster.config
        retry: Retry | None = None
        is_over = False  # metadata had time to spread
        other_ids = AnotherIdCounter()
        deleted = DeletedTopics(self._cluster)
        while True:
            try:
                found = self.assignment(deadline)
                if found is self._polled and known is self._known:
                    return self._list_latest(found, (), deadline)
                recreated = self._recreated_topics(found, known)
                if not recreated:
                    other_ids.reset()
                if recreated and not other_ids.add():
                    reason = _stale_metadata(f"topics {', '.join(recreated)} have other ids")
                elif not is_over and (missing := self._missing(found, known - gone, deleted)):
                    reason = _stale_metadata(f"partitions {join_partitions(missing)} are missing")
                else:
                    ends = self._list_latest(found, recreated, deadline)
                    self._known = known
                    return ends
            except BrokerError as error:
                if is_over or not is_unknown_topic(error):
                    raise
                reason = error
            self.invalidate_partitions()
            if retry is None:
                propagation_ms = config.topic_propagation_max_ms
                retry = Retry(config, Deadline.after(propagation_ms), propagation_ms)
            try:
                retry.wait(reason)
            except KafkaError:
                is_over = True
                retry.pause()
            deadline = Deadline.after(config.api_timeout_ms)

    def earliest_offsets(
        self, partitions: Collection[TopicPartition], deadline: Deadline
    ) -> dict[TopicPartition, int]:
        """The log start offsets of the partitions that exist."""
        existing = set(partitions) & set(self.assignment(deadline).existing)
        return list_offsets(self._cluster, dict.fromkeys(existing, EARLIEST), deadline)

    def _recreated_topics(self, found: Assignment, known: Iterable[TopicPartition]) -> list[str]:
        if found.topic_ids.items() <= self._ids.items():
            return []
        read = {tp.topic for tp in known}
        return sorted(
            topic
            for topic, topic_id in found.topic_ids.items()
            if topic in read and self._ids[topic] != topic_id
        )

    def _missing(
        self, found: Assignment, known: AbstractSet[TopicPartition], deleted: DeletedTopics
    ) -> set[TopicPartition]:
        """The known partitions that one broker lacks, unless their topics are deleted.

        A topic with another id than before is not missing, though it may have fewer partitions.
        """
        before = {tp: self._ids.get(tp.topic) for tp in known - set(found.existing)}
        missing = {tp for tp, id_ in before.items() if found.topic_ids.get(tp.topic, id_) == id_}
        gone = deleted.deleted_among({tp.topic for tp in missing} & self._ids.keys())
        return {tp for tp in missing if tp.topic not in gone}

    def _list_latest(
        self, found: Assignment, recreated: Collection[str], deadline: Deadline
    ) -> LogEndOffsets:
        if self._poll is None or self._polled is not found:
            self._poll = OffsetsPoll(self._cluster, dict.fromkeys(found.existing, LATEST))
            self._polled = found
        latest = self._poll.poll(deadline)
        self._replaced_ids.update(self._ids[topic] for topic in recreated)
        self._ids |= found.topic_ids
        return LogEndOffsets(latest, recreated)


def _stale_metadata(what: str) -> BrokerError:
    return BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Metadata: {what}")
