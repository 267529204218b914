"""List, describe and delete groups of consumers, without being a member. `groups` has the offsets.

Groups of the classic protocol, and of the consumer protocol (KIP-848). A broker that has both finds
a group by one API only, so both are asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol, TypeVar

from kafka_protocol.client.broker.broker import Broker, SentRequest
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.coordinators import with_coordinator
from kafka_protocol.client.cluster.exchange import exchange
from kafka_protocol.errors import BrokerError, DecodeError, ErrorCode, KafkaError, OutOfStepError
from kafka_protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kafka_protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafka_protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafka_protocol.messages.find_coordinator import GROUP
from kafka_protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire import primitives as p

# Types and states as brokers spell them (Kafka's GroupType and GroupState).
CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
_EMPTY: Final = frozenset({"Empty", "Dead"})
_DEAD: Final = "Dead"

# The protocol of consumers, whose assignments can be read; Kafka Connect has another one.
_CONSUMERS: Final = "consumer"

# A broker with the older coordinator refuses the API that it lists.
_NOT_OF_CONSUMER_PROTOCOL: Final = frozenset(
    {ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION}
)

# How long a broker that is down may delay the others. Its groups move to them.
_CONNECT_MS: Final = 2_000


class ListedGroup(NamedTuple):
    """A group, as its coordinator lists it.

    Attributes:
        group_type: Such as classic, consumer or share; None below Kafka 3.8.
        state: Such as Stable or Empty; None below Kafka 2.6.
        protocol_type: "consumer" for consumers; None if the group only keeps offsets.
        coordinator: The node id of its coordinator; None if the broker did not say its own.
    """

    group_id: str
    group_type: str | None
    state: str | None
    protocol_type: str | None
    coordinator: int | None


class ListedGroups(NamedTuple):
    """Groups, by id, and the errors of the brokers that could not list theirs."""

    groups: tuple[ListedGroup, ...]
    errors: tuple[KafkaError, ...]


class GroupMember(NamedTuple):
    """A member of a group.

    Attributes:
        partitions: The partitions that it reads; None if the group's protocol does not show them.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[TopicPartition, ...] | None


class DescribedGroup(NamedTuple):
    """A group, as its coordinator knows it.

    Attributes:
        assignor: How partitions are given to members; None without members.
    """

    group_id: str
    group_type: str
    state: str
    assignor: str | None
    coordinator: int | None
    members: tuple[GroupMember, ...]

    @property
    def is_in_use(self) -> bool:
        """Whether the group has members, or waits for members that join."""
        return bool(self.members) or self.state not in _EMPTY


def list_groups(cluster: Cluster, deadline: Deadline) -> ListedGroups:
    """The groups that the principal may describe, from every broker.

    Raises:
        UnsupportedVersionError: The brokers are older than 0.9.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    retry = _retry(cluster, deadline)
    listed = _list_once(cluster, deadline)
    while loading := [e for e in listed.errors if isinstance(e, BrokerError) and e.retriable]:
        try:
            retry.wait_if_all_retriable(loading)
            listed = _list_once(cluster, deadline)
        except KafkaError:
            break
    return listed


def describe_group(cluster: Cluster, group_id: str, deadline: Deadline) -> DescribedGroup | None:
    """The state and the members of a group; None if no broker knows such a group.

    Raises:
        BrokerError: The group, or a topic that its members read, may not be described.
        UnsupportedVersionError: The brokers are older than 0.9.
        BrokerConnectionError, KafkaTimeoutError: The coordinator cannot be reached.
    """

    def describe(coordinator: Broker) -> DescribedGroup | None:
        if coordinator.versions.range_of(ConsumerGroupDescribeRequest) is not None:
            described = _describe_consumers(coordinator, group_id, deadline)
            if described is not None:
                return described
        return _describe_classic(coordinator, group_id, deadline)

    return with_coordinator(
        cluster, (GROUP, group_id), describe, deadline, _retry(cluster, deadline)
    )


def delete_group(cluster: Cluster, group_id: str, deadline: Deadline) -> None:
    """Delete a group with its offsets.

    Raises:
        BrokerError: The group has members (NON_EMPTY_GROUP), does not exist, or the principal lacks
            DELETE on it. If the response to an earlier try was lost, it may be deleted.
        UnsupportedVersionError: The brokers are older than 1.1.
        BrokerConnectionError, KafkaTimeoutError: The coordinator cannot be reached.
    """
    request = DeleteGroupsRequest(groups_names=[group_id])

    def delete(coordinator: Broker) -> None:
        response = coordinator.request(request, DeleteGroupsResponse, deadline)
        context = f"DeleteGroups of {group_id!r} to {coordinator}"
        deleted = _described(response.results, group_id, context)
        _check(deleted.error_code, context, deleted.error_message)

    with_coordinator(cluster, (GROUP, group_id), delete, deadline, _retry(cluster, deadline))


def _retry(cluster: Cluster, deadline: Deadline) -> Retry:
    return Retry(cluster.config, deadline, cluster.config.connection_setup_timeout_ms)


def _list_once(cluster: Cluster, deadline: Deadline) -> ListedGroups:
    brokers, unreachable = cluster.all_brokers(deadline.capped_at(_CONNECT_MS))
    for broker in brokers:
        broker.choose(ListGroupsRequest)

    def send(broker: Broker) -> SentRequest:
        return broker.send(ListGroupsRequest(), deadline)

    exchanged = exchange(brokers, send, ListGroupsResponse, deadline)
    errors = [*unreachable, *exchanged.unsent.values(), *exchanged.unanswered.values()]
    groups: dict[str, ListedGroup] = {}
    for broker, response in exchanged.responses.values():
        for each in response.groups:
            groups[each.group_id] = ListedGroup(
                each.group_id,
                each.group_type.lower() or None,
                each.group_state or None,
                each.protocol_type or None,
                broker.node_id,
            )
        if response.error_code:
            errors.append(BrokerError(response.error_code, f"ListGroups to {broker}"))
    return ListedGroups(tuple(groups[each] for each in sorted(groups)), tuple(errors))


def _describe_consumers(
    coordinator: Broker, group_id: str, deadline: Deadline
) -> DescribedGroup | None:
    """A group of the consumer protocol; None if it is none."""
    request = ConsumerGroupDescribeRequest(group_ids=[group_id])
    response = coordinator.request(request, ConsumerGroupDescribeResponse, deadline)
    context = f"ConsumerGroupDescribe of {group_id!r} to {coordinator}"
    group = _described(response.groups, group_id, context)
    if group.error_code in _NOT_OF_CONSUMER_PROTOCOL:
        return None
    _check(group.error_code, context, group.error_message)
    members = [
        _member(
            each,
            each.instance_id,
            (
                TopicPartition(topic.topic_name, number)
                for topic in each.assignment.topic_partitions
                for number in topic.partitions
            ),
        )
        for each in group.members
    ]
    assignor = group.assignor_name or None
    return DescribedGroup(
        group_id, CONSUMER, group.group_state, assignor, coordinator.node_id, tuple(members)
    )


def _describe_classic(
    coordinator: Broker, group_id: str, deadline: Deadline
) -> DescribedGroup | None:
    """A group of the classic protocol; None if it is none."""
    request = DescribeGroupsRequest(groups=[group_id])
    response = coordinator.request(request, DescribeGroupsResponse, deadline)
    context = f"DescribeGroups of {group_id!r} to {coordinator}"
    group = _described(response.groups, group_id, context)
    # A group that is not there is "Dead" below v6 (KIP-1043).
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND or group.group_state == _DEAD:
        return None
    _check(group.error_code, context, group.error_message)
    are_consumers = group.protocol_type == _CONSUMERS
    members = [
        _member(
            each,
            each.group_instance_id,
            _assigned(each.member_assignment, each.member_id) if are_consumers else None,
        )
        for each in group.members
    ]
    assignor = group.protocol_data or None
    return DescribedGroup(
        group_id, CLASSIC, group.group_state, assignor, coordinator.node_id, tuple(members)
    )


class _HasGroupId(Protocol):
    group_id: str


G = TypeVar("G", bound=_HasGroupId)


def _described(groups: Iterable[G], group_id: str, context: str) -> G:
    """The group in the response to a request for it alone."""
    for each in groups:
        if each.group_id == group_id:
            return each
    raise OutOfStepError(f"{context}: the response lacks the group")


class _HasClient(Protocol):
    """The fields of a member that responses of both group protocols have."""

    member_id: str
    client_id: str
    client_host: str


def _member(
    described: _HasClient, instance_id: str | None, partitions: Iterable[TopicPartition] | None
) -> GroupMember:
    return GroupMember(
        described.member_id,
        instance_id,
        described.client_id,
        described.client_host,
        None if partitions is None else tuple(sorted(partitions)),
    )


def _assigned(data: bytes | memoryview, member_id: str) -> list[TopicPartition] | None:
    """The partitions in Kafka's ConsumerProtocolAssignment; None during a rebalance.

    All versions begin alike: a version, topics with their partitions. Later fields are not needed.
    """
    if not data:
        return None
    buf = memoryview(data)
    partitions = []
    try:
        _, pos = p.read_int16(buf, 0)
        topics, pos = p.read_array_length(buf, pos)
        for _ in range(topics or 0):
            topic, pos = p.read_nullable_string(buf, pos)
            numbers, pos = p.read_array_length(buf, pos)
            for _ in range(numbers or 0):
                number, pos = p.read_int32(buf, pos)
                partitions.append(TopicPartition(topic or "", number))
    except DecodeError as error:
        raise DecodeError(f"the assignment of the group's member {member_id!r}: {error}") from error
    return partitions


def _check(code: int, context: str, message: str | None) -> None:
    if code:
        raise BrokerError(code, context, message)
