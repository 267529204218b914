"""The responses of a scripted broker as a coordinator of groups' offsets and of producer ids.

Groups have no members here, and topic ids (v10+ of the offset APIs) are unknown. Other nodes return
NOT_COORDINATOR. The coordinator of transactions is in `transactions`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from tests.fakes.handlers import Context

_NO_OFFSET = -1


def _coordinator_of(context: Context, key: str) -> int:
    return context.cluster.coordinators.get(key, min(context.cluster.nodes))


def coordinator_error(context: Context, key: str) -> int:
    """The error that a test pushed, or NOT_COORDINATOR where another node is the coordinator."""
    if context.error or _coordinator_of(context, key) == context.node:
        return int(context.error)
    return int(ErrorCode.NOT_COORDINATOR)


def find_coordinator(context: Context, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    keys = request.coordinator_keys if context.version >= 4 else [request.key]
    found = []
    for key in keys:
        number = _coordinator_of(context, key)
        address = context.cluster.nodes[number].broker.address
        found.append(
            FindCoordinatorResponse.Coordinator(
                key=key,
                node_id=number,
                host=address.host,
                port=address.port,
                error_code=int(context.error),
            )
        )
    if context.version >= 4:
        return FindCoordinatorResponse(coordinators=found)
    only = found[0]
    return FindCoordinatorResponse(
        error_code=only.error_code, node_id=only.node_id, host=only.host, port=only.port
    )


def offset_commit(context: Context, request: OffsetCommitRequest) -> OffsetCommitResponse:
    error = coordinator_error(context, request.group_id)
    Topic = OffsetCommitResponse.OffsetCommitResponseTopic
    topics = []
    for topic in request.topics:
        results = []
        for row in topic.partitions:
            if not error:
                committed = context.cluster.committed.setdefault(request.group_id, {})
                committed[TopicPartition(topic.name, row.partition_index)] = row.committed_offset
            results.append(
                Topic.OffsetCommitResponsePartition(
                    partition_index=row.partition_index, error_code=error
                )
            )
        topics.append(Topic(name=topic.name, partitions=results))
    return OffsetCommitResponse(topics=topics)


def offset_fetch(context: Context, request: OffsetFetchRequest) -> OffsetFetchResponse:
    if context.version < 8:
        Topic = OffsetFetchResponse.OffsetFetchResponseTopic
        error = coordinator_error(context, request.group_id)
        topics = [
            Topic(
                name=name,
                partitions=[
                    Topic.OffsetFetchResponsePartition(
                        partition_index=number, committed_offset=offset
                    )
                    for number, offset in offsets
                ],
            )
            for name, offsets in _committed(context, request.group_id, request.topics, error)
        ]
        return OffsetFetchResponse(topics=topics, error_code=error)
    return OffsetFetchResponse(groups=[_fetched_group(context, group) for group in request.groups])


def _fetched_group(context: Context, group: OffsetFetchRequest.OffsetFetchRequestGroup) -> Any:
    Group = OffsetFetchResponse.OffsetFetchResponseGroup
    Topic = Group.OffsetFetchResponseTopics
    error = coordinator_error(context, group.group_id)
    topics = [
        Topic(
            name=name,
            partitions=[
                Topic.OffsetFetchResponsePartitions(partition_index=number, committed_offset=offset)
                for number, offset in offsets
            ],
        )
        for name, offsets in _committed(context, group.group_id, group.topics, error)
    ]
    return Group(group_id=group.group_id, topics=topics, error_code=error)


def _committed(
    context: Context, group_id: str, topics: Iterable[Any] | None, error: int
) -> list[tuple[str, list[tuple[int, int]]]]:
    """Topic -> partitions and offsets, of the requested topics or of all (None)."""
    if error:
        return []
    known = context.cluster.committed.get(group_id, {})
    if topics is None:
        wanted = {tp.topic: [n for t, n in known if t == tp.topic] for tp in known}
    else:
        wanted = {topic.name: topic.partition_indexes for topic in topics}
    return [
        (name, [(n, known.get(TopicPartition(name, n), _NO_OFFSET)) for n in numbers])
        for name, numbers in wanted.items()
    ]


def init_producer_id(context: Context, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if context.error:
        return InitProducerIdResponse(error_code=int(context.error))
    context.cluster.producer_ids += 1
    return InitProducerIdResponse(producer_id=context.cluster.producer_ids)
