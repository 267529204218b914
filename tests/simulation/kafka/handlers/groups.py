"""OffsetCommit and OffsetFetch, for clients that are members of no group."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any, Final

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.offset_commit import OffsetCommitResponse
from kafka_protocol.messages.offset_fetch import OffsetFetchResponse
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.primitives import ZERO_UUID
from tests.simulation.kafka.call import Call
from tests.simulation.kafka.groups import Committed, Groups

_BY_ID: Final = 10
_MANY_GROUPS: Final = 8
_NOTHING: Final = Committed(-1, -1, "")


def offset_commit(call: Call) -> None:
    """Keep offsets of existing partitions; the rest is refused one by one."""
    request = call.request
    wanted: dict[TopicPartition, Committed] = {}
    codes: dict[tuple[str, uuid.UUID, int], ErrorCode] = {}
    error, groups = call.coordinator(call.broker.groups, request.group_id)
    if groups is not None:
        error = _member_error(call, groups)
    for topic in request.topics:
        known = call.topic(topic.name, topic.topic_id)
        for row in topic.partitions:
            key = (topic.name, topic.topic_id, row.partition_index)
            codes[key] = error or _existence(call, topic, known, row.partition_index)
            if not codes[key] and known is not None:
                wanted[TopicPartition(known.name, row.partition_index)] = Committed(
                    row.committed_offset, row.committed_leader_epoch, row.committed_metadata or ""
                )

    def is_written(topic: Any, row: Any) -> bool:
        return not codes[topic.name, topic.topic_id, row.partition_index]

    def done(error: ErrorCode) -> None:
        Topic = OffsetCommitResponse.OffsetCommitResponseTopic
        call.respond(
            OffsetCommitResponse(
                topics=[
                    Topic(
                        name=topic.name,
                        topic_id=topic.topic_id,
                        partitions=[
                            Topic.OffsetCommitResponsePartition(
                                partition_index=row.partition_index,
                                error_code=int(
                                    codes[topic.name, topic.topic_id, row.partition_index] or error
                                ),
                            )
                            for row in sorted(
                                topic.partitions, key=lambda row: is_written(topic, row)
                            )
                        ],
                    )
                    for topic in request.topics
                ]
            )
        )

    if groups is None:
        done(error)
    else:
        offsets = {each: committed.offset for each, committed in wanted.items()}
        call.broker.truth.commits(request.group_id, offsets)
        groups.commit(request.group_id, wanted, done)


def _member_error(call: Call, groups: Groups) -> ErrorCode:
    """The error for a generation, or for none: no client is a member of a group here."""
    group = groups.all.get(call.request.group_id)
    if call.request.generation_id_or_member_epoch < 0:
        is_used = group is not None and group.members
        return ErrorCode.UNKNOWN_MEMBER_ID if is_used else ErrorCode.NONE
    if group is not None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.ILLEGAL_GENERATION if call.version < 9 else ErrorCode.GROUP_ID_NOT_FOUND


def _existence(call: Call, topic: Any, known: Any, number: int) -> ErrorCode:
    if known is None and call.version >= _BY_ID and topic.topic_id != ZERO_UUID:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if known is None or not 0 <= number < len(known.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def offset_fetch(call: Call) -> None:
    """The offsets of one group, or of several."""
    request = call.request
    if call.version >= _MANY_GROUPS:
        groups = [_group(call, group) for group in request.groups]
        call.respond(OffsetFetchResponse(groups=groups))
        return
    error, rows = _offsets(call, request.group_id, request.topics)
    Topic = OffsetFetchResponse.OffsetFetchResponseTopic
    code = int(error) if call.version < 2 else 0
    call.respond(
        OffsetFetchResponse(
            error_code=int(error),
            topics=[
                Topic(
                    name=name,
                    partitions=[
                        Topic.OffsetFetchResponsePartition(
                            partition_index=number,
                            committed_offset=found.offset,
                            committed_leader_epoch=found.leader_epoch,
                            metadata=found.metadata,
                            error_code=code,
                        )
                        for number, found in partitions
                    ],
                )
                for name, _, partitions in rows
            ],
        )
    )


def _group(call: Call, wanted: Any) -> Any:
    error, rows = _offsets(call, wanted.group_id, wanted.topics)
    Group = OffsetFetchResponse.OffsetFetchResponseGroup
    Topic = Group.OffsetFetchResponseTopics
    return Group(
        group_id=wanted.group_id,
        error_code=int(error),
        topics=[
            Topic(
                name=name,
                topic_id=topic_id,
                partitions=[
                    Topic.OffsetFetchResponsePartitions(
                        partition_index=number,
                        committed_offset=found.offset,
                        committed_leader_epoch=found.leader_epoch,
                        metadata=found.metadata,
                    )
                    for number, found in partitions
                ],
            )
            for name, topic_id, partitions in rows
        ],
    )


_Rows = list[tuple[str, uuid.UUID, list[tuple[int, Committed]]]]


def _offsets(call: Call, group: str, topics: Iterable[Any] | None) -> tuple[ErrorCode, _Rows]:
    """Topic, its id, and its offsets: of the requested partitions, or of all (None)."""
    error, groups = call.coordinator(call.broker.groups, group)
    if error or groups is None:
        return error, _empty(topics) if call.version < 2 else []
    known = groups.offsets.get(group, {})
    image = call.broker.image
    if topics is None:
        names = sorted({each.topic for each in known})
        wanted = [(n, [p for t, p in sorted(known) if t == n]) for n in names]
    else:
        wanted = [(_name(call, topic), topic.partition_indexes) for topic in topics]
    return ErrorCode.NONE, [
        (
            name,
            image.topics[name].topic_id if name in image.topics else ZERO_UUID,
            [(number, known.get(TopicPartition(name, number), _NOTHING)) for number in numbers],
        )
        for name, numbers in wanted
    ]


def _name(call: Call, topic: Any) -> str:
    if call.version < _BY_ID:
        return str(topic.name)
    return call.broker.image.names.get(topic.topic_id, "")


def _empty(topics: Iterable[Any] | None) -> _Rows:
    return [
        (topic.name, ZERO_UUID, [(number, _NOTHING) for number in topic.partition_indexes])
        for topic in topics or ()
    ]
