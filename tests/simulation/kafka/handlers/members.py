"""ListGroups, DescribeGroups, ConsumerGroupDescribe, DeleteGroups: groups with their members."""

from __future__ import annotations

from typing import Any, Final

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeResponse,
    TopicPartitions,
)
from kafka_protocol.messages.delete_groups import DeleteGroupsResponse
from kafka_protocol.messages.describe_groups import DescribeGroupsResponse
from kafka_protocol.messages.list_groups import ListGroupsResponse
from kafka_protocol.topic_partition import TopicPartition, by_topic
from kafka_protocol.wire import primitives as p
from tests.simulation.kafka.call import Call
from tests.simulation.kafka.groups import Group

_KNOWS_NOT_FOUND: Final = 6  # of DescribeGroups (KIP-1043)
_HOST: Final = "/127.0.0.1"


def list_groups(call: Call) -> None:
    """The groups that this broker coordinates."""
    shards, request = call.broker.groups, call.request
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    error = call.refusal() or (loading if shards.is_loading else ErrorCode.NONE)
    states, types = set(request.states_filter), set(request.types_filter)
    known = {name: group for shard in shards.all_loaded for name, group in shard.all.items()}
    listed = [
        ListGroupsResponse.ListedGroup(
            group_id=name,
            protocol_type=group.protocol_type,
            group_state=group.state,
            group_type=group.kind,
        )
        for name, group in known.items()
        if (not states or group.state in states) and (not types or group.kind in types)
    ]
    call.respond(ListGroupsResponse(error_code=int(error), groups=[] if error else listed))


def _find(call: Call, name: str, kind: str) -> tuple[ErrorCode, Group | None]:
    """A group of a kind, or why it is not here."""
    error, groups = call.coordinator(call.broker.groups, name)
    group = None if groups is None else groups.all.get(name)
    if error or group is None or group.kind != kind:
        return error or ErrorCode.GROUP_ID_NOT_FOUND, None
    return ErrorCode.NONE, group


# --- DescribeGroups ------------------------------------------------------------------------------


def describe_groups(call: Call) -> None:
    """The state and the members of classic groups."""
    described = [_classic(call, name) for name in call.request.groups]
    call.respond(DescribeGroupsResponse(groups=described))


def _classic(call: Call, name: str) -> Any:
    Described = DescribeGroupsResponse.DescribedGroup
    error, group = _find(call, name, "classic")
    if group is None:
        is_dead = error is ErrorCode.GROUP_ID_NOT_FOUND
        if is_dead and call.version < _KNOWS_NOT_FOUND:
            error = ErrorCode.NONE
        state = "Dead" if is_dead else ""
        return Described(group_id=name, error_code=int(error), group_state=state)
    return Described(
        group_id=name,
        group_state=group.state,
        protocol_type=group.protocol_type,
        protocol_data="range" if group.members else "",
        members=[
            Described.DescribedGroupMember(
                member_id=f"{client}-1",
                client_id=client,
                client_host=_HOST,
                member_metadata=b"",
                member_assignment=_assignment(partitions),
            )
            for client, partitions in group.members.items()
        ],
    )


def _assignment(partitions: list[TopicPartition]) -> bytes:
    """As Java's consumers write it, in version 1."""
    out: p.Out = []
    p.write_int16(out, 1)
    topics = by_topic(partitions)
    p.write_array_length(out, len(topics))
    for topic, each in topics.items():
        p.write_nullable_string(out, topic)
        p.write_array_length(out, len(each))
        for tp in each:
            p.write_int32(out, tp.partition)
    p.write_nullable_bytes(out, None)
    return b"".join(out)


# --- ConsumerGroupDescribe -----------------------------------------------------------------------


def describe_consumer_groups(call: Call) -> None:
    """The state and the members of groups of the new protocol (KIP-848)."""
    described = [_consumers(call, name) for name in call.request.group_ids]
    call.respond(ConsumerGroupDescribeResponse(groups=described))


def _consumers(call: Call, name: str) -> Any:
    Described = ConsumerGroupDescribeResponse.DescribedGroup
    error, group = _find(call, name, "consumer")
    if group is None:
        return Described(group_id=name, error_code=int(error))
    topics = call.broker.image.topics
    return Described(
        group_id=name,
        group_state=group.state,
        assignor_name="uniform",
        members=[
            Described.Member(
                member_id=f"{client}-1",
                client_id=client,
                client_host=_HOST,
                assignment=Assignment(
                    topic_partitions=[
                        TopicPartitions(
                            topic_id=topics[topic].topic_id,
                            topic_name=topic,
                            partitions=[tp.partition for tp in each],
                        )
                        for topic, each in by_topic(partitions).items()
                    ]
                ),
                target_assignment=Assignment(),
            )
            for client, partitions in group.members.items()
        ],
    )


# --- DeleteGroups --------------------------------------------------------------------------------


def delete_groups(call: Call) -> None:
    """Delete groups without members, and their offsets."""
    Result = DeleteGroupsResponse.DeletableGroupResult
    results = [
        Result(group_id=name, error_code=int(_deleted(call, name)))
        for name in call.request.groups_names
    ]
    call.respond(DeleteGroupsResponse(results=results))


def _deleted(call: Call, name: str) -> ErrorCode:
    error, groups = call.coordinator(call.broker.groups, name)
    if error or groups is None:
        return error
    group = groups.all.get(name)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.members:
        return ErrorCode.NON_EMPTY_GROUP
    groups.delete(name)
    return ErrorCode.NONE
