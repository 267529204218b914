"""Committed offsets of consumer groups, read and written without being a member.

A query keeps its own offsets; it commits offsets here for other programs, such as lag tools. No
group membership, and no offsets in ZooKeeper (version 0 of both APIs).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias, TypeVar

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.coordinators import with_coordinator
from kafka_protocol.errors import BrokerError, ErrorCode, OutOfStepError
from kafka_protocol.messages.find_coordinator import GROUP
from kafka_protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_protocol.topic_partition import TopicPartition, by_topic
from kafka_protocol.wire.schema import VersionRange

T = TypeVar("T")

# v0 is about ZooKeeper; v10 has topic ids only.
_BY_NAME: Final = VersionRange(1, 9)
# From v2 on a request without partitions gets all.
_OF_ALL: Final = VersionRange(2, 9)
# The first version of OffsetFetch with several groups in one request, in other fields (KIP-709).
_MANY_GROUPS: Final = 8

_NO_GENERATION: Final = -1
_NO_OFFSET: Final = -1

_OneGroup = OffsetFetchResponse.OffsetFetchResponseTopic
_OneOfMany = OffsetFetchResponse.OffsetFetchResponseGroup.OffsetFetchResponseTopics
_PartitionOffset: TypeAlias = (
    "_OneGroup.OffsetFetchResponsePartition | _OneOfMany.OffsetFetchResponsePartitions"
)


def committed_offsets(
    cluster: Cluster,
    group_id: str,
    partitions: Collection[TopicPartition] | None,
    deadline: Deadline,
) -> dict[TopicPartition, int]:
    """The offset that a group has committed (the next to read), of each partition that has one.

    An unknown group has no offsets.

    Args:
        cluster: The cluster.
        group_id: The group.
        partitions: The partitions to look at; None for all, which needs brokers since 0.10.2.
        deadline: When this must have ended.

    Raises:
        BrokerError: The group or a topic may not be read.
        BrokerConnectionError, KafkaTimeoutError: The coordinator cannot be reached.
        UnsupportedVersionError: The coordinator is too old to return all partitions.
    """
    versions = _BY_NAME if partitions is not None else _OF_ALL

    def fetch(coordinator: Broker) -> dict[TopicPartition, int]:
        version = coordinator.choose(OffsetFetchRequest, versions)
        request = _fetch_request(group_id, partitions, version)
        response = coordinator.request(request, OffsetFetchResponse, deadline, versions)
        context = f"OffsetFetch of group {group_id!r} to {coordinator}"
        group = _group_in(response, group_id, version, context)
        _check(group.error_code, context)
        results: dict[TopicPartition, _PartitionOffset] = {
            TopicPartition(topic.name, partition.partition_index): partition
            for topic in group.topics
            for partition in topic.partitions
        }
        offsets = {}
        for topic_partition in results if partitions is None else partitions:
            if topic_partition not in results:
                raise OutOfStepError(f"{context}: the response lacks {topic_partition}")
            partition = results[topic_partition]
            # Below v2 this error also means that the group has no offset for the partition.
            if partition.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                _check(partition.error_code, f"{context} for {topic_partition}")
                offsets[topic_partition] = partition.committed_offset
        return {tp: offset for tp, offset in offsets.items() if offset != _NO_OFFSET}

    return _with_coordinator(cluster, group_id, fetch, deadline)


def commit_offsets(
    cluster: Cluster, group_id: str, offsets: Mapping[TopicPartition, int], deadline: Deadline
) -> None:
    """Commit offsets (the next to read of each partition) for a group that has no members now.

    Raises:
        BrokerError: The group has members (UNKNOWN_MEMBER_ID), or the principal may not write it.
        BrokerConnectionError, KafkaTimeoutError: The coordinator cannot be reached. The offsets may
            be committed.
    """
    topics = [
        OffsetCommitRequest.OffsetCommitRequestTopic(
            name=topic,
            partitions=[
                OffsetCommitRequest.OffsetCommitRequestTopic.OffsetCommitRequestPartition(
                    partition_index=tp.partition, committed_offset=offsets[tp]
                )
                for tp in partitions
            ],
        )
        for topic, partitions in by_topic(offsets).items()
    ]
    request = OffsetCommitRequest(
        group_id=group_id, generation_id_or_member_epoch=_NO_GENERATION, topics=topics
    )

    def commit(coordinator: Broker) -> None:
        response = coordinator.request(request, OffsetCommitResponse, deadline, _BY_NAME)
        codes = {
            TopicPartition(topic.name, partition.partition_index): partition.error_code
            for topic in response.topics
            for partition in topic.partitions
        }
        for topic_partition in offsets:
            context = (
                f"OffsetCommit of group {group_id!r} for {topic_partition} at offset "
                f"{offsets[topic_partition]} to {coordinator}"
            )
            if topic_partition not in codes:
                raise OutOfStepError(f"{context}: the response lacks the partition")
            _check(codes[topic_partition], context)

    _with_coordinator(cluster, group_id, commit, deadline)


def _with_coordinator(
    cluster: Cluster, group_id: str, call: Callable[[Broker], T], deadline: Deadline
) -> T:
    retry = Retry(cluster.config, deadline, cluster.config.connection_setup_timeout_ms)
    return with_coordinator(cluster, (GROUP, group_id), call, deadline, retry)


def _fetch_request(
    group_id: str, partitions: Collection[TopicPartition] | None, version: int
) -> OffsetFetchRequest:
    Group = OffsetFetchRequest.OffsetFetchRequestGroup
    if partitions is None:
        return (
            OffsetFetchRequest(group_id=group_id, topics=None)
            if version < _MANY_GROUPS
            else OffsetFetchRequest(groups=[Group(group_id=group_id, topics=None)])
        )
    numbers = {t: [tp.partition for tp in tps] for t, tps in by_topic(partitions).items()}
    if version < _MANY_GROUPS:
        Topic = OffsetFetchRequest.OffsetFetchRequestTopic
        topics = [Topic(name=name, partition_indexes=each) for name, each in numbers.items()]
        return OffsetFetchRequest(group_id=group_id, topics=topics)
    group_topics = [
        Group.OffsetFetchRequestTopics(name=name, partition_indexes=each)
        for name, each in numbers.items()
    ]
    return OffsetFetchRequest(groups=[Group(group_id=group_id, topics=group_topics)])


def _group_in(
    response: OffsetFetchResponse, group_id: str, version: int, context: str
) -> OffsetFetchResponse | OffsetFetchResponse.OffsetFetchResponseGroup:
    """The group's part of a response, in either of the two layouts."""
    if version < _MANY_GROUPS:
        return response
    groups = [group for group in response.groups if group.group_id == group_id]
    if not groups:
        raise OutOfStepError(f"{context}: the response lacks the group")
    return groups[0]


def _check(code: int, context: str) -> None:
    if code:
        raise BrokerError(code, context)
