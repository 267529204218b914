"""The ends, topics and ids of a stream's partitions, requested by the driver of a running query.

Connections live as long as the query. The partitions are requested again after
metadata.max.age.ms, the ends of logs each time. A missing partition, or another topic id, is
requested again until metadata has had time to spread (topic.metadata.propagation.max.ms), or until
every broker lacks the topic: a single broker may have old metadata.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet

from kafka_protocol.client.clock import Deadline, monotonic_ms, pause_before_retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import Topic
from kafka_protocol.client.consumer.deleted_topics import unknown_to_all
from kafka_protocol.client.consumer.list_offsets import OffsetsPoll, list_offsets
from kafka_protocol.client.consumer.topic_identity import is_unknown_topic, new_watch
from kafka_protocol.client.consumer.topic_watch import Event, TopicWatch, Verdict
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.planning.strategies import Strategy, names_of, selects
from kafka_spark_source.planning.stream import LogSnapshot
from kafka_spark_source.reading.assignment import Assignment, assignment_of, request_topics
from kafka_spark_source.streaming.topic_ids import TopicIds


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
        self._topics: Collection[Topic] = ()  # the topics of the assignment
        self._assignment: Assignment | None = None
        self._fresh_until = Deadline.after(0)
        self._ids = TopicIds()
        self._ends = _Ends(cluster)
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
        """The partitions of a running query; a deleted topic is not an error here.

        Raises:
            BrokerError: A topic may not be read, or a broker's metadata is so old that it returns
                the id of a deleted topic.
        """
        if self._assignment is None or self._fresh_until.has_passed:
            return self._resolve(names_of(self._strategy), deadline)
        return self._assignment

    def invalidate_partitions(self) -> None:
        """Make the next call request the partitions again, however fresh they are."""
        self._fresh_until = Deadline.after(0)

    def _resolve(self, known: Collection[str], deadline: Deadline) -> Assignment:
        # Later, `latest_offsets` waits for topics, but not for topics that are gone for good.
        may_lack = () if self._assignment is None else known
        topics = request_topics(self._cluster, self._strategy, deadline, known, may_lack)
        if self._assignment is None or topics != self._topics:
            assignment = assignment_of(self._strategy, topics)
            if self._ids.are_stale(assignment.topic_ids):
                raise _stale_metadata("a broker returns the id of a deleted topic")
            self._topics, self._assignment = topics, assignment
            self._ids.adopt(assignment.topic_ids)
        self._fresh_until = Deadline.after(self._ttl_ms)
        return self._assignment

    def topic_ids(
        self, partitions: Collection[TopicPartition], deadline: Deadline
    ) -> Mapping[str, uuid.UUID]:
        """The ids of the topics that the query reads; brokers below 2.8 return none."""
        if any(tp.topic not in self._ids.by_topic for tp in partitions):
            self.assignment(deadline)
        return self._ids.by_topic

    def latest_offsets(
        self,
        known: AbstractSet[TopicPartition],
        deadline: Deadline,
        gone: AbstractSet[TopicPartition] = frozenset(),
    ) -> LogSnapshot:
        """The ends of the logs now.

        Args:
            known: The partitions that were read before.
            deadline: When to give up. A wait for metadata to spread does not count: the requests
                after it have default.api.timeout.ms again.
            gone: Known partitions that may be missing: do not wait for them.

        Returns:
            The ends of all partitions that exist. A known partition is missing only if its topic
            is deleted, or if brokers did not know it for topic.metadata.propagation.max.ms
            (`topic_watch`). A topic is reported once as re-created.

        Raises:
            KafkaError: The cluster cannot be reached, or a broker refuses.
        """
        config = self._cluster.config
        watches: defaultdict[str, TopicWatch] = defaultdict(lambda: new_watch(config))
        leaders = new_watch(config)
        failures = 0
        while True:
            try:
                assignment = self.assignment(deadline)
                is_same = known is self._known or known == self._known
                if is_same and self._ends.are_of(assignment):
                    return self._list_latest(assignment, (), deadline)
                verdicts = {
                    topic: watches[topic].note(event, monotonic_ms())
                    for topic, event in self._events(assignment, known, gone)
                }
                if Verdict.WAIT not in verdicts.values():
                    recreated = sorted(t for t, v in verdicts.items() if v is Verdict.RECREATED)
                    ends = self._list_latest(assignment, recreated, deadline)
                    self._known = known
                    return ends
            except BrokerError as error:
                if not is_unknown_topic(error):
                    raise
                if leaders.note(Event.UNKNOWN, monotonic_ms()) is not Verdict.WAIT:
                    raise
            self.invalidate_partitions()
            pause_before_retry(config, failures)
            failures += 1
            deadline = Deadline.after(config.api_timeout_ms)

    def earliest_offsets(
        self, partitions: Collection[TopicPartition], deadline: Deadline
    ) -> dict[TopicPartition, int]:
        """The log start offsets of the partitions that exist."""
        existing = set(partitions) & set(self.assignment(deadline).existing)
        return list_offsets(self._cluster, dict.fromkeys(existing, EARLIEST), deadline)

    def _events(
        self,
        assignment: Assignment,
        known: AbstractSet[TopicPartition],
        gone: AbstractSet[TopicPartition],
    ) -> Iterator[tuple[str, Event]]:
        """The event in metadata for each topic that was read.

        A topic with another id is not missing, though it may have fewer partitions; nor is one that
        the query no longer selects.
        """
        replaced = self._ids.changed_in(assignment.topic_ids)
        absent = known - gone - set(assignment.existing)
        missing = {tp.topic for tp in absent if selects(self._strategy, tp)} - replaced
        deleted = unknown_to_all(self._cluster, missing & self._ids.by_topic.keys())
        for topic in sorted({tp.topic for tp in known}):
            if topic in replaced:
                yield topic, Event.ANOTHER_ID
            elif topic in deleted:
                yield topic, Event.UNKNOWN_TO_ALL
            else:
                yield topic, Event.UNKNOWN if topic in missing else Event.CONFIRMED

    def _list_latest(
        self, assignment: Assignment, recreated: Collection[str], deadline: Deadline
    ) -> LogSnapshot:
        version, offsets = self._ends.list_now(assignment, deadline)
        self._ids.replace(recreated, assignment.topic_ids)
        return LogSnapshot(version, offsets, recreated)


class _Ends:
    """The ends of the logs of an assignment, and a version that changes with them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._assignment: Assignment | None = None
        self._poll = OffsetsPoll(cluster, {})
        self._polled_version: int | None = None
        self._version = 0

    def are_of(self, assignment: Assignment) -> bool:
        """Whether the ends were last listed for this assignment."""
        return self._assignment is assignment

    def list_now(self, assignment: Assignment, deadline: Deadline) -> tuple[int, Offsets]:
        """Request the ends; returns the version, and the ends by partition."""
        if self._assignment is not assignment:
            self._assignment, self._polled_version = assignment, None
            self._poll = OffsetsPoll(self._cluster, dict.fromkeys(assignment.existing, LATEST))
        polled = self._poll.poll(deadline)
        if polled.version != self._polled_version:
            self._polled_version = polled.version
            self._version += 1
        return self._version, polled.offsets


def _stale_metadata(what: str) -> BrokerError:
    return BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Metadata: {what}")
