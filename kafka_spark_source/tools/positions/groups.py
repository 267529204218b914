"""Moves a consumer group to another position, or deletes it.

A group in use cannot be moved: its members would overwrite the offsets with their next commit, and
brokers refuse a commit by others. Kafka's own tool has the same rule.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.group_admin import delete_group, describe_group
from kafka_protocol.client.cluster.groups import commit_offsets, committed_offsets
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaConfigError, KafkaError
from kafka_protocol.topic_partition import TopicPartition, by_topic
from kafka_spark_source.planning.offsets_json import join_partitions
from kafka_spark_source.planning.positions import Bound, Everywhere, SpecificOffsets
from kafka_spark_source.tools.positions.moves import OffsetPlan, plan_moves
from kafka_spark_source.tools.positions.positions import partitions_of

_HAS_MEMBERS: Final = frozenset(
    {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.STALE_MEMBER_EPOCH}
)


class GroupError(KafkaError):
    """A group does not exist, or cannot be changed as it is now."""


@dataclass(frozen=True, kw_only=True)
class Reset(OffsetPlan):
    """The moves of a group."""

    group_id: str


def plan_reset(
    cluster: Cluster,
    group_id: str,
    target: Everywhere | SpecificOffsets,
    topics: Collection[str],
    deadline: Deadline,
) -> Reset:
    """Find the new offsets of a group.

    Args:
        cluster: The cluster.
        group_id: The group. It need not exist if topics are named.
        target: The position, or positions of some partitions.
        topics: The topics to move the group in; empty for all that it has committed offsets of.
        deadline: When the brokers must have responded.

    Raises:
        GroupError: The group is in use, or has no offsets, or a partition is gone.
        KafkaConfigError: Topics are named twice.
        KafkaError: A position is not in a log, or brokers refuse or cannot be reached.
    """
    check_unused(cluster, group_id, deadline)
    if isinstance(target, SpecificOffsets):
        if topics:
            raise KafkaConfigError("Name topics either in the JSON of --to or with --topic.")
        topics = {each if isinstance(each, str) else each.topic for each in target.bounds}
    if topics:
        known = partitions_of(cluster, sorted(topics), deadline)
        bounds = _bounds(target, known)
        offsets = committed_offsets(cluster, group_id, [*bounds], deadline)
    else:
        offsets = committed_offsets(cluster, group_id, None, deadline)
        if not offsets:
            raise unknown_group(group_id)
        _check_topics(cluster, offsets, deadline)
        bounds = _bounds(target, offsets)
    committed = {tp: offsets.get(tp) for tp in bounds}
    moves = plan_moves(committed, bounds, cluster, deadline)
    return Reset(group_id=group_id, moves=moves)


def check_skips_nothing(planned: Reset) -> None:
    """Check that no record would never be read.

    Raises:
        GroupError: Some would not.
    """
    if planned.ahead:
        raise GroupError(
            f"The group {planned.group_id!r} has not come that far in "
            f"{join_partitions(planned.ahead)}: {planned.skipped:,} offsets would never be read. "
            "Choose an earlier position, or give --skip."
        )


def reset(cluster: Cluster, planned: Reset, deadline: Deadline) -> None:
    """Commit the new offsets of a group.

    Raises:
        GroupError: The group has got members, or has committed other offsets since.
        KafkaError: As from `commit_offsets`.
    """
    group_id = planned.group_id
    check_unused(cluster, group_id, deadline)
    moves = {TopicPartition(*each[:2]): each for each in planned.moves}
    offsets = committed_offsets(cluster, group_id, [*moves], deadline)
    if {tp: offsets.get(tp) for tp in moves} != {tp: each.committed for tp, each in moves.items()}:
        raise GroupError(
            f"The group {group_id!r} has committed other offsets meanwhile: a program uses it. "
            "Stop it, and try again."
        )
    try:
        commit_offsets(cluster, group_id, {tp: each.offset for tp, each in moves.items()}, deadline)
    except BrokerError as error:
        if error.error in _HAS_MEMBERS:
            raise GroupError(
                f"The group {group_id!r} has members by now: stop them, and try again. {error}"
            ) from error
        raise


def delete(cluster: Cluster, group_id: str, deadline: Deadline) -> None:
    """Delete a group with its offsets.

    Raises:
        GroupError: It is in use.
        KafkaError: As from `delete_group`.
    """
    check_unused(cluster, group_id, deadline)
    delete_group(cluster, group_id, deadline)


def check_unused(cluster: Cluster, group_id: str, deadline: Deadline) -> None:
    """Check that a group has no members. One that does not exist has none.

    Raises:
        GroupError: It has some.
        KafkaError: As from `describe_group`.
    """
    group = describe_group(cluster, group_id, deadline)
    if group is None or not group.is_in_use:
        return
    clients = sorted({f"{each.client_id} on {each.host}" for each in group.members})
    raise GroupError(
        f"The group {group_id!r} is in use: its state is {group.state}, members: "
        f"{', '.join(clients) or 'none yet'}. Stop them first; one that was killed leaves after "
        "its session.timeout.ms."
    )


def _bounds(
    target: Everywhere | SpecificOffsets, known: Collection[TopicPartition]
) -> dict[TopicPartition, Bound]:
    """The new position of each partition that moves."""
    if isinstance(target, Everywhere):
        return dict.fromkeys(known, target.bound)
    gone = {each for each in target.bounds if isinstance(each, TopicPartition)} - {*known}
    if gone:
        raise GroupError(f"{join_partitions(gone)} does not exist.")
    return {
        tp: target.bound_of(tp) for tp in known if tp in target.bounds or tp.topic in target.bounds
    }


def _check_topics(
    cluster: Cluster, offsets: Collection[TopicPartition], deadline: Deadline
) -> None:
    """Check that all partitions with offsets are still there."""
    names = sorted(by_topic(offsets))
    metadata = cluster.topics(names, deadline)
    gone = [tp for tp in offsets if tp.partition not in metadata[tp.topic].partitions]
    if gone:
        raise GroupError(
            f"The group has offsets of {join_partitions(gone)}, which no longer exists or may not "
            "be described: name the topics to move it in with --topic."
        )


def unknown_group(group_id: str) -> GroupError:
    """The error for a group that has neither members nor offsets."""
    return GroupError(
        f"There is no group {group_id!r} with offsets, or it has been forgotten. "
        "`pykafka groups list` shows all groups."
    )
