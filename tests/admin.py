"""Requests of librdkafka's AdminClient, repeated until a deadline if the error is transient."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewPartitions, NewTopic

from kafka_spark_source.testing.processes.waiting import Deadline

_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_ANSWERS = 5
SOON_SECONDS = 30
REPLICAS = 3

K = TypeVar("K")
T = TypeVar("T")

# Metadata of a broker can be older than a change, for a moment.
_TRANSIENT = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError._WAIT_COORD,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
}


class Admin:
    """The brokers' topics, each with so many replicas."""

    def __init__(self, servers: str, replicas: int = REPLICAS) -> None:
        self._replicas = replicas
        # One broker does not know less than another.
        self._answers = _ANSWERS if replicas > 1 else 1
        self._client = AdminClient(
            {
                "bootstrap.servers": servers,
                "socket.timeout.ms": SOON_SECONDS * 1_000,
                "log_level": 2,
            }
        )

    def create(self, topic: str, partitions: int, config: Mapping[str, str]) -> None:
        """Makes a topic, and waits until all its replicas are in sync."""
        new = NewTopic(topic, partitions, self._replicas, config=dict(config))
        _until_done(lambda: _results(self._client.create_topics([new])))
        self.wait_for_replicas(topic, partitions)

    def delete(self, topic: str) -> None:
        """Deletes a topic."""
        _until_done(lambda: _results(self._client.delete_topics([topic])))

    def topics(self) -> set[str]:
        """The names of all topics."""
        return {*self._client.list_topics(timeout=SOON_SECONDS).topics}

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Raises the number of partitions; nothing if there are as many."""
        if self.partitions(topic) < partitions:
            more = NewPartitions(topic, partitions)
            _until_done(lambda: _results(self._client.create_partitions([more])))
        self.wait_for_replicas(topic, partitions)

    def partitions(self, topic: str) -> int:
        """The number of partitions; 0 if there is no such topic."""
        return len(self._client.list_topics(topic, SOON_SECONDS).topics[topic].partitions)

    def leaders(self, topic: str) -> dict[int, int]:
        """The node id of each partition's leader."""
        partitions = self._client.list_topics(topic, SOON_SECONDS).topics[topic].partitions
        return {number: each.leader for number, each in partitions.items()}

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Moves the log start of each partition to an offset, on all replicas."""
        places = [TopicPartition(topic, *each) for each in before.items()]
        if places:
            _until_done(lambda: _results(self._client.delete_records(places)))

    def set_config(self, topic: str, name: str, value: str) -> None:
        """Sets one configuration of a topic."""
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        _until_done(lambda: _results(self._client.incremental_alter_configs([resource])))

    def starts(self, topic: str, partitions: int) -> dict[int, int]:
        """The log start offset of each partition."""
        return self._offsets(topic, partitions, _EARLIEST, IsolationLevel.READ_UNCOMMITTED)

    def ends(self, topic: str, partitions: int) -> dict[int, int]:
        """The high watermark of each partition."""
        return self._offsets(topic, partitions, _LATEST, IsolationLevel.READ_UNCOMMITTED)

    def stable_ends(self, topic: str, partitions: int) -> dict[int, int]:
        """The last stable offset of each partition."""
        return self._offsets(topic, partitions, _LATEST, IsolationLevel.READ_COMMITTED)

    def _offsets(
        self, topic: str, partitions: int, spec: OffsetSpec, level: IsolationLevel
    ) -> dict[int, int]:
        wanted = {TopicPartition(topic, partition): spec for partition in range(partitions)}
        infos = _until_done(
            lambda: _results(self._client.list_offsets(wanted, isolation_level=level))
        )
        return {place.partition: info.offset for place, info in infos.items()}

    def wait_for_replicas(self, topic: str | None = None, partitions: int | None = None) -> None:
        """Waits until all replicas of a topic, or of all topics, are in sync.

        Any broker answers, from metadata that can be old, above all in one that was paused. So all
        of some answers in a row must say so.
        """
        answers: deque[bool] = deque(maxlen=self._answers)

        def are_in_sync() -> bool:
            answers.append(self._in_sync(topic, partitions))
            return answers.count(True) == self._answers

        if not Deadline(2 * SOON_SECONDS).wait_for(are_in_sync):
            raise TimeoutError(f"not all replicas of {topic or 'all topics'} are in sync")

    def _in_sync(self, topic: str | None, partitions: int | None) -> bool:
        try:
            topics = self._client.list_topics(topic, 5).topics.values()
        except KafkaException:
            return False
        found = [each for metadata in topics for each in metadata.partitions.values()]
        complete = partitions is None or len(found) == partitions
        return complete and all(
            each.leader >= 0 and len(each.isrs) == len(each.replicas) for each in found
        )


def _results(futures: Mapping[K, Future[T]]) -> dict[K, T]:
    return {key: future.result() for key, future in futures.items()}


def _until_done(ask: Callable[[], T]) -> T:
    deadline = Deadline(SOON_SECONDS)
    results: list[T] = []

    def is_done() -> bool:
        try:
            results.append(ask())
        except KafkaException as error:
            if error.args[0].code() not in _TRANSIENT or deadline.has_passed:
                raise
        return bool(results)

    if not deadline.wait_for(is_done):
        raise TimeoutError(f"the brokers refused for {SOON_SECONDS} s")
    return results[0]
