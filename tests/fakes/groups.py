"""Groups with members on a scripted cluster: listed, described and deleted, and moved if unused.

The rules are those of Kafka's group coordinator: a group of the consumer protocol is unknown to
DescribeGroups and the reverse, a group in use refuses commits of others and its deletion.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    TopicPartitions,
)
from kafka_protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafka_protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafka_protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafka_protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_protocol.topic_partition import TopicPartition, by_topic
from kafka_protocol.wire import primitives as p
from tests.fakes import coordinating
from tests.fakes.cluster import NEWEST, ScriptedCluster
from tests.fakes.handlers import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kafka_protocol.wire.schema import Request


@dataclass
class Group:
    """A group of the coordinator's; members are client ids with the partitions that they read."""

    kind: str = "classic"
    members: dict[str, list[TopicPartition]] = field(default_factory=dict)
    protocol_type: str = "consumer"
    state: str = ""

    def __post_init__(self) -> None:
        self.state = self.state or ("Stable" if self.members else "Empty")


class GroupsCluster(ScriptedCluster):
    """A scripted cluster with groups; a group that only has offsets is an empty classic one."""

    def __init__(self, nodes: int = 1, release: str = NEWEST) -> None:
        super().__init__(nodes, release)
        self.groups: dict[str, Group] = {}

    def known(self) -> dict[str, Group]:
        only_offsets = {name: Group(protocol_type="") for name in self.committed}
        return only_offsets | self.groups

    def _handlers(self) -> Mapping[type[Request], Callable[[Context, Any], Any]]:
        own = {kind: partial(handler, self) for kind, handler in _HANDLERS.items()}
        return {**super()._handlers(), **own}


def _list(
    cluster: GroupsCluster, context: Context, _request: ListGroupsRequest
) -> ListGroupsResponse:
    own = min(cluster.nodes)
    groups = [
        ListGroupsResponse.ListedGroup(
            group_id=name,
            protocol_type=group.protocol_type,
            group_state=group.state,
            group_type=group.kind,
        )
        for name, group in cluster.known().items()
        if cluster.coordinators.get(name, own) == context.node
    ]
    return ListGroupsResponse(error_code=int(context.error), groups=groups)


def _describe_classic(
    cluster: GroupsCluster, context: Context, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    Described = DescribeGroupsResponse.DescribedGroup
    described = []
    for name in request.groups:
        group = cluster.known().get(name)
        error = coordinating.coordinator_error(context, name)
        if group is None or group.kind != "classic":
            not_found = int(ErrorCode.GROUP_ID_NOT_FOUND) if context.version >= 6 else 0
            described.append(
                Described(group_id=name, error_code=error or not_found, group_state="Dead")
            )
            continue
        members = [
            Described.DescribedGroupMember(
                member_id=f"{client}-1",
                client_id=client,
                client_host="/127.0.0.1",
                member_metadata=b"",
                member_assignment=_assignment(partitions),
            )
            for client, partitions in group.members.items()
        ]
        described.append(
            Described(
                group_id=name,
                error_code=error,
                group_state=group.state,
                protocol_type=group.protocol_type,
                protocol_data="range" if members else "",
                members=members,
            )
        )
    return DescribeGroupsResponse(groups=described)


def _assignment(partitions: list[TopicPartition]) -> bytes:
    """As consumers of Java's write it, in version 1."""
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


def _describe_consumers(
    cluster: GroupsCluster, context: Context, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    Described = ConsumerGroupDescribeResponse.DescribedGroup
    described = []
    for name in request.group_ids:
        group = cluster.known().get(name)
        error = coordinating.coordinator_error(context, name)
        if group is None or group.kind != "consumer":
            error = error or int(ErrorCode.GROUP_ID_NOT_FOUND)
            described.append(Described(group_id=name, error_code=error))
            continue
        members = [
            Described.Member(
                member_id=f"{client}-1",
                client_id=client,
                client_host="/127.0.0.1",
                assignment=Assignment(
                    topic_partitions=[
                        TopicPartitions(
                            topic_id=cluster.topics[topic].topic_id,
                            topic_name=topic,
                            partitions=[tp.partition for tp in each],
                        )
                        for topic, each in by_topic(partitions).items()
                    ]
                ),
                target_assignment=Assignment(),
            )
            for client, partitions in group.members.items()
        ]
        described.append(
            Described(
                group_id=name,
                error_code=error,
                group_state=group.state,
                assignor_name="uniform",
                members=members,
            )
        )
    return ConsumerGroupDescribeResponse(groups=described)


def _delete(
    cluster: GroupsCluster, context: Context, request: DeleteGroupsRequest
) -> DeleteGroupsResponse:
    results = []
    for name in request.groups_names:
        group = cluster.known().get(name)
        error = coordinating.coordinator_error(context, name)
        if not error and group is None:
            error = int(ErrorCode.GROUP_ID_NOT_FOUND)
        elif not error and group is not None and group.members:
            error = int(ErrorCode.NON_EMPTY_GROUP)
        elif not error:
            cluster.groups.pop(name, None)
            cluster.committed.pop(name, None)
        results.append(DeleteGroupsResponse.DeletableGroupResult(group_id=name, error_code=error))
    return DeleteGroupsResponse(results=results)


def _commit(
    cluster: GroupsCluster, context: Context, request: OffsetCommitRequest
) -> OffsetCommitResponse:
    group = cluster.groups.get(request.group_id)
    if group and group.members and request.generation_id_or_member_epoch < 0:
        context = context._replace(error=ErrorCode.UNKNOWN_MEMBER_ID)
    return coordinating.offset_commit(context, request)


_HANDLERS: dict[type[Request], Callable[[GroupsCluster, Context, Any], Any]] = {
    ConsumerGroupDescribeRequest: _describe_consumers,
    DeleteGroupsRequest: _delete,
    DescribeGroupsRequest: _describe_classic,
    ListGroupsRequest: _list,
    OffsetCommitRequest: _commit,
}
