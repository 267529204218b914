"""A consumer group with its members, its offsets and its lag."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafka_protocol.client.cluster.group_admin import DescribedGroup, GroupMember, describe_group
from kafka_protocol.client.cluster.groups import committed_offsets
from kafka_protocol.errors import UnsupportedVersionError
from kafka_spark_source.lag.measured import MeasuredLag, measure
from kafka_spark_source.tools.positions.groups import unknown_group

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafka_protocol.client.clock import Deadline
    from kafka_protocol.client.cluster.cluster import Cluster
    from kafka_protocol.topic_partition import TopicPartition


class GroupReport(NamedTuple):
    """A group with its offsets.

    Attributes:
        group: Its state and members; None if it only has offsets (of brokers below 0.10).
        partitions: The lag of each partition that it has committed or reads, by topic and number.
        readers: The member that reads a partition, where that is known.
    """

    group: DescribedGroup | None
    partitions: tuple[MeasuredLag, ...]
    readers: Mapping[TopicPartition, GroupMember]


def report_group(cluster: Cluster, group_id: str, deadline: Deadline) -> GroupReport:
    """A group, its members and its lag.

    Raises:
        GroupError: There is no such group.
        KafkaError: As from `describe_group`, `committed_offsets` and `measure`.
    """
    group = describe_group(cluster, group_id, deadline)
    members = group.members if group else ()
    readers = {tp: member for member in members for tp in member.partitions or ()}
    try:
        offsets = committed_offsets(cluster, group_id, None, deadline)
    except UnsupportedVersionError:
        # Brokers below 0.10.2 only return the offsets of partitions that the request names.
        if not readers:
            raise
        offsets = committed_offsets(cluster, group_id, [*readers], deadline)
    if group is None and not offsets:
        raise unknown_group(group_id)
    # A partition that is read and has no offset yet has no position either.
    positions = dict.fromkeys(readers, 0) | offsets
    return GroupReport(group, tuple(measure("", positions, offsets, cluster, deadline)), readers)
