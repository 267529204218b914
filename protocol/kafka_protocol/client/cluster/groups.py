"""The offsets that groups commit: read and written by someone who is no member of the group.

A query keeps its own offsets; what is committed here is for others, such as lag tools, and what is
read here is where others stood. The group's coordinator is found, and found again where it moved.
ZooKeeper's offsets (version 0 of both APIs) are neither read nor written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias, TypeVar

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import BrokerError, ErrorCode, OutOfStepError
from kafka_protocol.messages.find_coordinator import GROUP
from kafka_protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_protocol.schema import VersionRange
from kafka_protocol.topic_partition import TopicPartition, by_topic

T = TypeVar("T")

# v0 speaks of ZooKeeper; v10 speaks of topics by id only.
_BY_NAME: Final = VersionRange(1, 9)
# The first version of OffsetFetch that asks for several groups at once, in other fields (KIP-709).
_MANY_GROUPS: Final = 8

# Of a group whose members, if it has any, are not asked.
_NO_GENERATION: Final = -1
_NO_OFFSET: Final = -1

_OneGroup = OffsetFetchResponse.OffsetFetchResponseTopic
_OneOfMany = OffsetFetchResponse.OffsetFetchResponseGroup.OffsetFetchResponseTopics
_PartitionAnswer: TypeAlias = (
    "_OneGroup.OffsetFetchResponsePartition | _OneOfMany.OffsetFetchResponsePartitions"
)


def committed_offsets(
    cluster: Cluster, group_id: str, partitions: Collection[TopicPartition], deadline: Deadline
) -> dict[TopicPartition, int]:
    """The offsets that a group has committed.

    Args:
        cluster: Whom to ask.
        group_id: The group; one that nobody has heard of has committed nothing.
        partitions: Of which partitions.
        deadline: When to give up.

    Returns:
        The offset to go on at, for each partition that the group has committed one for.

    Raises:
        BrokerError: The group or a topic may not be read.
        BrokerConnectionError, KafkaTimeoutError: The coordinator cannot be reached.
    """

    def ask(coordinator: Broker) -> dict[TopicPartition, int]:
        version = coordinator.choose(OffsetFetchRequest, _BY_NAME)
        request = _fetch_request(group_id, partitions, version)
        response = coordinator.request(request, OffsetFetchResponse, deadline, _BY_NAME)
        context = f"OffsetFetch of group {group_id!r} to {coordinator}"
        answered = _answered(response, group_id, version, context)
        _check(answered.error_code, context)
        answers: dict[TopicPartition, _PartitionAnswer] = {
            TopicPartition(topic.name, partition.partition_index): partition
            for topic in answered.topics
            for partition in topic.partitions
        }
        offsets = {}
        for topic_partition in partitions:
            if topic_partition not in answers:
                raise OutOfStepError(f"{context}: the answer lacks {topic_partition}")
            answer = answers[topic_partition]
            # Below v2 a group without offsets is an unknown partition.
            if answer.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                _check(answer.error_code, f"{context} for {topic_partition}")
                offsets[topic_partition] = answer.committed_offset
        return {tp: offset for tp, offset in offsets.items() if offset != _NO_OFFSET}

    return _with_coordinator(cluster, group_id, ask, deadline)


def commit_offsets(
    cluster: Cluster, group_id: str, offsets: Mapping[TopicPartition, int], deadline: Deadline
) -> None:
    """Commit offsets for a group that has no members at the moment.

    Args:
        cluster: Whom to tell.
        group_id: The group.
        offsets: For each partition the offset to go on at, which is behind the last one read.
        deadline: When to give up.

    Raises:
        BrokerError: The group has members (UNKNOWN_MEMBER_ID), or may not be written.
        BrokerConnectionError, KafkaTimeoutError: The coordinator cannot be reached; whether the
            offsets were committed is unknown.
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

    def ask(coordinator: Broker) -> None:
        response = coordinator.request(request, OffsetCommitResponse, deadline, _BY_NAME)
        answers = {
            TopicPartition(topic.name, partition.partition_index): partition.error_code
            for topic in response.topics
            for partition in topic.partitions
        }
        for topic_partition in offsets:
            context = (
                f"OffsetCommit of group {group_id!r} for {topic_partition} at offset "
                f"{offsets[topic_partition]} to {coordinator}"
            )
            if topic_partition not in answers:
                raise OutOfStepError(f"{context}: the answer lacks the partition")
            _check(answers[topic_partition], context)

    _with_coordinator(cluster, group_id, ask, deadline)


def _with_coordinator(
    cluster: Cluster, group_id: str, ask: Callable[[Broker], T], deadline: Deadline
) -> T:
    retry = Retry(cluster.config, deadline, cluster.config.connection_setup_timeout_ms)
    return cluster.ask_coordinator(GROUP, group_id, ask, deadline, retry)


def _fetch_request(
    group_id: str, partitions: Collection[TopicPartition], version: int
) -> OffsetFetchRequest:
    numbers = {t: [tp.partition for tp in tps] for t, tps in by_topic(partitions).items()}
    if version < _MANY_GROUPS:
        Topic = OffsetFetchRequest.OffsetFetchRequestTopic
        topics = [Topic(name=name, partition_indexes=each) for name, each in numbers.items()]
        return OffsetFetchRequest(group_id=group_id, topics=topics)
    Group = OffsetFetchRequest.OffsetFetchRequestGroup
    group_topics = [
        Group.OffsetFetchRequestTopics(name=name, partition_indexes=each)
        for name, each in numbers.items()
    ]
    return OffsetFetchRequest(groups=[Group(group_id=group_id, topics=group_topics)])


def _answered(
    response: OffsetFetchResponse, group_id: str, version: int, context: str
) -> OffsetFetchResponse | OffsetFetchResponse.OffsetFetchResponseGroup:
    """The group's answer, in whichever of the two layouts it is."""
    if version < _MANY_GROUPS:
        return response
    groups = [group for group in response.groups if group.group_id == group_id]
    if not groups:
        raise OutOfStepError(f"{context}: the answer lacks the group")
    return groups[0]


def _check(code: int, context: str) -> None:
    if code:
        raise BrokerError(code, context)
