"""The rights of the principal, as brokers return them (KIP-430, from 2.3 on). Changes nothing.

Where brokers do not return them, only an attempt would show them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.coordinators import with_coordinator
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafka_protocol.messages.find_coordinator import GROUP
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.wire.schema import VersionRange

_METADATA_WITH_RIGHTS: Final = 8
_GROUPS_WITH_RIGHTS: Final = 3
# From v6 on a group without members is an error (KIP-1043).
_GROUP_VERSIONS: Final = VersionRange(0, 5)


class Operation(IntEnum):
    """An operation of ACLs, by its code in the protocol."""

    READ = 3
    WRITE = 4
    DESCRIBE = 8


def topic_rights(cluster: Cluster, topic: str, deadline: Deadline) -> frozenset[Operation] | None:
    """The operations on a topic that the principal may do; None if brokers do not return them.

    Raises:
        KafkaError: The topic does not exist or may not be described, or no broker can be reached.
    """

    def request(broker: Broker, setup: Deadline) -> MetadataResponse | None:
        if broker.choose(MetadataRequest) < _METADATA_WITH_RIGHTS:
            return None
        named = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=topic)],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        )
        return broker.request(named, MetadataResponse, setup)

    response = cluster.with_any_broker(request, deadline)
    for topic_metadata in response.topics if response else ():
        if topic_metadata.error_code:
            raise BrokerError(topic_metadata.error_code, f"Metadata of the topic {topic!r}")
        return _operations(topic_metadata.topic_authorized_operations)
    return None


def check_may_write(cluster: Cluster, topic: str, deadline: Deadline) -> None:
    """Check that the principal may write to a topic, as far as brokers return rights.

    Raises:
        BrokerError: It may not.
        KafkaError: As from `topic_rights`.
    """
    rights = topic_rights(cluster, topic, deadline)
    if rights is not None and Operation.WRITE not in rights:
        raise BrokerError(
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            f"Cannot write to topic {topic!r}, on which the principal lacks the right WRITE",
        )


def group_rights(cluster: Cluster, group: str, deadline: Deadline) -> frozenset[Operation] | None:
    """The operations on a consumer group that the principal may do; None if they are not returned.

    Raises:
        KafkaError: The group may not be described, or its coordinator cannot be reached.
    """

    def request(coordinator: Broker) -> frozenset[Operation] | None:
        if coordinator.choose(DescribeGroupsRequest, _GROUP_VERSIONS) < _GROUPS_WITH_RIGHTS:
            return None
        response = coordinator.request(
            DescribeGroupsRequest(groups=[group], include_authorized_operations=True),
            DescribeGroupsResponse,
            deadline,
            _GROUP_VERSIONS,
        )
        for described in response.groups:
            if described.error_code:
                raise BrokerError(described.error_code, f"DescribeGroups of {group!r}")
            return _operations(described.authorized_operations)
        return None

    retry = Retry(cluster.config, deadline, cluster.config.connection_setup_timeout_ms)
    return with_coordinator(cluster, (GROUP, group), request, deadline, retry)


def _operations(bits: int) -> frozenset[Operation] | None:
    # Brokers describe only to principals with DESCRIBE, which READ and WRITE imply. One that leaves
    # it out does not return rights: Kafka sends -2**31 then.
    if not bits >> Operation.DESCRIBE & 1:
        return None
    return frozenset(each for each in Operation if bits >> each & 1)
