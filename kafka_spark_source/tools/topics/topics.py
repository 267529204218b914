"""Facts about topics from brokers: replicas, sizes, offsets, times and configuration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import topic_configs
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.metadata import request_metadata
from kafka_protocol.client.consumer.log_bounds import list_log_bounds
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError, UnsupportedVersionError
from kafka_protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafka_protocol.messages.metadata import MetadataResponse
from kafka_protocol.topic_partition import LogBounds, OffsetRange, TopicPartition
from kafka_spark_source.tools.positions.topic_names import check_known
from kafka_spark_source.tools.records.peek import last_in
from kafka_spark_source.tools.topics.record_times import record_times

_NO_LEADER: Final = -1


class Partition(NamedTuple):
    """A partition. Replicas are node ids; None is an unknown value.

    Attributes:
        leader: None if it has no leader now.
        in_sync: The replicas that have all committed records.
        size: Bytes on the disk of the leader.
        first_ms: The timestamp of its first record, in ms since 1970.
        last_ms: The timestamp of its last record.
    """

    topic: str
    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    earliest: int | None
    latest: int | None
    size: int | None
    first_ms: int | None
    last_ms: int | None

    @property
    def is_under_replicated(self) -> bool:
        """Whether a replica is not in sync."""
        return len(self.in_sync) < len(self.replicas)

    @property
    def offsets(self) -> int | None:
        """An upper limit of the number of records."""
        if self.earliest is None or self.latest is None:
            return None
        return self.latest - self.earliest


class ListedTopic(NamedTuple):
    """A topic and its partitions, in order."""

    name: str
    is_internal: bool
    partitions: tuple[Partition, ...]


def list_topics(
    cluster: Cluster, names: Collection[str] | None, deadline: Deadline, *, with_times: bool = False
) -> list[ListedTopic]:
    """Topics by name, or all that the principal may describe.

    Args:
        cluster: The cluster.
        names: None for all.
        deadline: When this must have ended.
        with_times: Whether the first and the last record of each partition are read.

    Raises:
        BrokerError: A named topic does not exist, or may not be described.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    if names is not None:
        # Waits for a topic that was just created.
        cluster.settled_topics(names, deadline)
    response = cluster.with_any_broker(
        lambda broker, setup: request_metadata(broker, names, setup), deadline
    )
    topics = [each for each in response.topics if names is None or each.name in names]
    unknown = dict.fromkeys(names or (), int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    codes = {each.name or "": each.error_code for each in topics}
    check_known(cluster, unknown | codes, deadline)
    led = [
        TopicPartition(topic.name or "", partition.partition_index)
        for topic in topics
        for partition in topic.partitions
        if partition.leader_id != _NO_LEADER
    ]
    logs = _logs(cluster, led, deadline)
    facts = _Facts(
        logs,
        _sizes(cluster, deadline),
        *(_times(cluster, logs, deadline) if with_times else ({}, {})),
    )
    return sorted(_topic(each, facts) for each in topics)


class _Facts(NamedTuple):
    """Facts about partitions that metadata lacks."""

    logs: Mapping[TopicPartition, LogBounds]
    sizes: Mapping[tuple[int | None, TopicPartition], int]
    first_ms: Mapping[TopicPartition, int]
    last_ms: Mapping[TopicPartition, int]


def _topic(metadata: MetadataResponse.MetadataResponseTopic, facts: _Facts) -> ListedTopic:
    name = metadata.name or ""
    partitions = []
    for each in sorted(metadata.partitions, key=lambda each: each.partition_index):
        tp = TopicPartition(name, each.partition_index)
        log = facts.logs.get(tp)
        partitions.append(
            Partition(
                *tp,
                None if each.leader_id == _NO_LEADER else each.leader_id,
                tuple(each.replica_nodes),
                tuple(each.isr_nodes),
                None if log is None else log.earliest,
                None if log is None else log.latest,
                facts.sizes.get((each.leader_id, tp)),
                facts.first_ms.get(tp),
                facts.last_ms.get(tp),
            )
        )
    return ListedTopic(name, metadata.is_internal, tuple(partitions))


def _logs(
    cluster: Cluster, partitions: Collection[TopicPartition], deadline: Deadline
) -> dict[TopicPartition, LogBounds]:
    """The ends of logs; nothing if the principal may describe but not read."""
    try:
        return list_log_bounds(cluster, partitions, deadline)
    except BrokerError as error:
        if error.error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return {}
        raise


def _times(
    cluster: Cluster, logs: Mapping[TopicPartition, LogBounds], deadline: Deadline
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    firsts = {tp: OffsetRange(tp, *log) for tp, log in logs.items()}
    lasts = {
        tp: OffsetRange(tp, max(log.earliest, log.latest - 1), log.latest)
        for tp, log in logs.items()
    }
    first_ms = record_times(cluster, firsts, deadline)
    last_ms = record_times(cluster, lasts, deadline)
    # The last offset has no record where transactions are used.
    for tp in first_ms.keys() - last_ms.keys():
        with suppress(KafkaError):
            for each in last_in(cluster, firsts[tp], 1, deadline):
                last_ms[tp] = each.timestamp_ms
    return first_ms, last_ms


def _sizes(cluster: Cluster, deadline: Deadline) -> dict[tuple[int | None, TopicPartition], int]:
    """Bytes by node and partition, from the brokers that respond (1.0 and newer)."""
    brokers, _ = cluster.all_brokers(deadline)
    sizes: dict[tuple[int | None, TopicPartition], int] = {}
    for broker in brokers:
        try:
            response = broker.request(
                DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, deadline
            )
        except KafkaError:
            continue
        sizes |= {(broker.node_id, tp): size for tp, size in _sizes_in(response).items()}
    return sizes


def _sizes_in(response: DescribeLogDirsResponse) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, partition.partition_index): partition.partition_size
        for folder in response.results
        for topic in folder.topics
        for partition in topic.partitions
        if not partition.is_future_key
    }


def set_configs(cluster: Cluster, topic: str, deadline: Deadline) -> dict[str, str | None] | None:
    """The configuration that was set for a topic itself, without defaults.

    None if brokers do not return it: they are older than 0.11, or the principal lacks
    DESCRIBE_CONFIGS.

    Raises:
        BrokerError: The topic does not exist.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    try:
        configs = topic_configs(cluster, topic, None, deadline)
    except UnsupportedVersionError:
        return None
    except BrokerError as error:
        if error.error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return None
        raise
    return {each.name: each.value for each in configs if each.is_set}
