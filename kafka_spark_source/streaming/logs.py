"""What the cluster holds of a stream's partitions, as a running query asks for it on the driver.

Connections live as long as the query. Partitions are looked for again every second, ends of logs
whenever they are asked for. What is missing, or another topic of the same name, is asked for until
word has had time to spread: one broker's word is not enough.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.list_offsets import OffsetsPoll, list_offsets
from kafka_protocol.client.consumer.topic_identity import is_doubtful
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST, join_partitions
from kafka_spark_source.planning.strategies import Strategy, names_of
from kafka_spark_source.planning.stream import Ends
from kafka_spark_source.reading.assignment import Assignment, resolve

# So a trigger a second later sees what is new, and one after the other asks for offsets only.
_PARTITIONS_ARE_FRESH_MS: Final = 1_000

# For how long, and how many times, all answers must tell another id before it is believed.
_ANOTHER_AFTER_MS: Final = 1_000
_WORDS_FOR_ANOTHER: Final = 3


class StreamLogs:
    """The partitions of one query. Not for several threads at once.

    Args:
        cluster: Whom to ask; kept, and never closed here.
        strategy: Which partitions.
    """

    def __init__(self, cluster: Cluster, strategy: Strategy) -> None:
        self._cluster = cluster
        self._strategy = strategy
        self._found: Assignment | None = None
        self._fresh_until = Deadline.after(0)
        self._ids: dict[str, uuid.UUID] = {}  # of the topics that the query has read
        self._outlived: set[uuid.UUID] = set()  # of those that were re-created
        self._poll: OffsetsPoll | None = None
        self._polled: Assignment | None = None

    def __repr__(self) -> str:
        count = "unknown" if self._found is None else len(self._found.existing)
        return f"<StreamLogs of {count} partitions, {self._cluster!r}>"

    def at_first(self, deadline: Deadline) -> Assignment:
        """The partitions of a new query.

        Raises:
            BrokerError: A topic that is named does not exist, or one may not be read.
        """
        return self._resolve((), deadline)

    def assignment(self, deadline: Deadline) -> Assignment:
        """The partitions of a running query; that topics are gone is no error here.

        Raises:
            BrokerError: A topic may not be read, or a broker is so far behind that it tells of one
                that was deleted.
        """
        if self._found is None or self._fresh_until.has_passed:
            return self._resolve(names_of(self._strategy), deadline)
        return self._found

    def look_again(self) -> None:
        """Look for partitions the next time, however fresh they are: something is odd."""
        self._fresh_until = Deadline.after(0)

    def _resolve(self, known: Collection[str], deadline: Deadline) -> Assignment:
        found = resolve(self._cluster, self._strategy, deadline, known)
        if not self._outlived.isdisjoint(found.topic_ids.values()):
            raise _doubt("a broker tells the id of a topic that was deleted")
        self._found = found
        self._fresh_until = Deadline.after(_PARTITIONS_ARE_FRESH_MS)
        self._ids = {**found.topic_ids, **self._ids}
        return found

    def topic_ids(
        self, partitions: Collection[TopicPartition], deadline: Deadline
    ) -> Mapping[str, uuid.UUID]:
        """The ids of the topics of partitions that the query reads, where brokers tell them."""
        if any(tp.topic not in self._ids for tp in partitions):
            self.assignment(deadline)
        return self._ids

    def ends(
        self,
        known: AbstractSet[TopicPartition],
        deadline: Deadline,
        gone: AbstractSet[TopicPartition] = frozenset(),
    ) -> Ends:
        """Where the logs end now.

        Args:
            known: The partitions that were read before.
            deadline: When to give up.
            gone: Those of them that are not waited for.

        Returns:
            The ends of all partitions that exist. One of the others is missing only if brokers
            have not known it for topic.metadata.propagation.max.ms; a topic counts as re-created
            after a second, and that is told once.

        Raises:
            KafkaError: A broker refuses, or the cluster cannot be asked.
        """
        config = self._cluster.config
        patience: Retry | None = None
        is_over, others, first_other = False, 0, Deadline.after(0)
        while True:
            try:
                found = self.assignment(deadline)
                recreated = self._other_topics(found, known)
                others = others + 1 if recreated else 0
                if others == 1:
                    first_other = Deadline.after(_ANOTHER_AFTER_MS)
                missing = known - gone - set(found.existing)
                if recreated and (others < _WORDS_FOR_ANOTHER or not first_other.has_passed):
                    doubt = _doubt(f"topics {', '.join(recreated)} have other ids")
                elif missing and not recreated and not is_over:
                    doubt = _doubt(f"partitions {join_partitions(missing)} are missing")
                else:
                    return self._ask(found, recreated, deadline)
            except BrokerError as error:
                if is_over or not is_doubtful(error):
                    raise
                doubt = error
            self.look_again()
            if patience is None:
                propagation_ms = config.topic_propagation_max_ms
                patience = Retry(config, Deadline.after(propagation_ms), propagation_ms)
            try:
                patience.wait(doubt)
            except KafkaError:
                is_over = True
                patience.pause()

    def earliest(
        self, partitions: Collection[TopicPartition], deadline: Deadline
    ) -> dict[TopicPartition, int]:
        """Where logs begin; without those that do not exist (any more)."""
        there = set(partitions) & set(self.assignment(deadline).existing)
        return list_offsets(self._cluster, dict.fromkeys(there, EARLIEST), deadline)

    def _other_topics(self, found: Assignment, known: Iterable[TopicPartition]) -> list[str]:
        if found.topic_ids.items() <= self._ids.items():
            return []
        read = {tp.topic for tp in known}
        return sorted(
            topic
            for topic, its_id in found.topic_ids.items()
            if topic in read and self._ids[topic] != its_id
        )

    def _ask(self, found: Assignment, recreated: Collection[str], deadline: Deadline) -> Ends:
        if self._poll is None or self._polled is not found:
            self._poll = OffsetsPoll(self._cluster, dict.fromkeys(found.existing, LATEST))
            self._polled = found
        latest = self._poll.ask(deadline)
        self._outlived.update(self._ids[topic] for topic in recreated)
        self._ids |= found.topic_ids
        return Ends(latest, recreated)


def _doubt(what: str) -> BrokerError:
    return BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Metadata: {what}")
