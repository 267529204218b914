"""What a scripted broker answers as a coordinator: of groups' offsets, and of producer ids.

Groups have no members here. Whoever is asked and is not the coordinator says so, and a topic by id
(v10+ of the offsets' APIs) is not known. The coordinator of transactions is in `transactions`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from tests.fakes.handlers import Asked

_NO_OFFSET = -1


def _coordinator_of(asked: Asked, key: str) -> int:
    return asked.cluster.coordinators.get(key, min(asked.cluster.nodes))


def verdict(asked: Asked, key: str) -> int:
    """The error that was pushed, or that somebody else is the key's coordinator."""
    if asked.error or _coordinator_of(asked, key) == asked.node:
        return int(asked.error)
    return int(ErrorCode.NOT_COORDINATOR)


def find_coordinator(asked: Asked, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    keys = request.coordinator_keys if asked.version >= 4 else [request.key]
    found = []
    for key in keys:
        number = _coordinator_of(asked, key)
        address = asked.cluster.nodes[number].broker.address
        found.append(
            FindCoordinatorResponse.Coordinator(
                key=key,
                node_id=number,
                host=address.host,
                port=address.port,
                error_code=int(asked.error),
            )
        )
    if asked.version >= 4:
        return FindCoordinatorResponse(coordinators=found)
    only = found[0]
    return FindCoordinatorResponse(
        error_code=only.error_code, node_id=only.node_id, host=only.host, port=only.port
    )


def offset_commit(asked: Asked, request: OffsetCommitRequest) -> OffsetCommitResponse:
    error = verdict(asked, request.group_id)
    Answer = OffsetCommitResponse.OffsetCommitResponseTopic
    topics = []
    for topic in request.topics:
        answers = []
        for row in topic.partitions:
            if not error:
                committed = asked.cluster.committed.setdefault(request.group_id, {})
                committed[TopicPartition(topic.name, row.partition_index)] = row.committed_offset
            answers.append(
                Answer.OffsetCommitResponsePartition(
                    partition_index=row.partition_index, error_code=error
                )
            )
        topics.append(Answer(name=topic.name, partitions=answers))
    return OffsetCommitResponse(topics=topics)


def offset_fetch(asked: Asked, request: OffsetFetchRequest) -> OffsetFetchResponse:
    if asked.version < 8:
        Answer = OffsetFetchResponse.OffsetFetchResponseTopic
        error = verdict(asked, request.group_id)
        topics = [
            Answer(
                name=name,
                partitions=[
                    Answer.OffsetFetchResponsePartition(
                        partition_index=number, committed_offset=offset
                    )
                    for number, offset in offsets
                ],
            )
            for name, offsets in _committed(asked, request.group_id, request.topics, error)
        ]
        return OffsetFetchResponse(topics=topics, error_code=error)
    return OffsetFetchResponse(groups=[_fetched_group(asked, group) for group in request.groups])


def _fetched_group(asked: Asked, group: OffsetFetchRequest.OffsetFetchRequestGroup) -> Any:
    Group = OffsetFetchResponse.OffsetFetchResponseGroup
    Answer = Group.OffsetFetchResponseTopics
    error = verdict(asked, group.group_id)
    topics = [
        Answer(
            name=name,
            partitions=[
                Answer.OffsetFetchResponsePartitions(
                    partition_index=number, committed_offset=offset
                )
                for number, offset in offsets
            ],
        )
        for name, offsets in _committed(asked, group.group_id, group.topics, error)
    ]
    return Group(group_id=group.group_id, topics=topics, error_code=error)


def _committed(
    asked: Asked, group_id: str, topics: Iterable[Any] | None, error: int
) -> list[tuple[str, list[tuple[int, int]]]]:
    """Topic -> partitions and offsets: of those that were asked for, or of all there are."""
    if error:
        return []
    known = asked.cluster.committed.get(group_id, {})
    if topics is None:
        wanted = {tp.topic: [n for t, n in known if t == tp.topic] for tp in known}
    else:
        wanted = {topic.name: topic.partition_indexes for topic in topics}
    return [
        (name, [(n, known.get(TopicPartition(name, n), _NO_OFFSET)) for n in numbers])
        for name, numbers in wanted.items()
    ]


def init_producer_id(asked: Asked, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if asked.error:
        return InitProducerIdResponse(error_code=int(asked.error))
    asked.cluster.producer_ids += 1
    return InitProducerIdResponse(producer_id=asked.cluster.producer_ids)
