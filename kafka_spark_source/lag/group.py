"""The lag of a consumer group: its committed offsets against the logs of their topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafka_protocol.client.cluster.groups import committed_offsets
from kafka_protocol.errors import KafkaError
from kafka_spark_source.lag.measured import MeasuredLag, measure

if TYPE_CHECKING:
    from kafka_protocol.client.clock import Deadline
    from kafka_protocol.client.cluster.cluster import Cluster


class GroupLag(NamedTuple):
    """The lag of a consumer group.

    Attributes:
        partitions: By topic and number. `source` is empty, and `planned` is `committed`.
    """

    group: str
    partitions: tuple[MeasuredLag, ...]

    @property
    def name(self) -> str:
        """The label `query` of its gauges."""
        return self.group


def group_lag(group: str, cluster: Cluster, deadline: Deadline) -> GroupLag:
    """Compare the offsets that a consumer group has committed with the logs of their topics.

    Raises:
        KafkaError: The group has no offsets, or as from `measure` and `committed_offsets`.
    """
    offsets = committed_offsets(cluster, group, None, deadline)
    if not offsets:
        raise KafkaError(f"The group {group!r} has committed no offsets, or has been forgotten.")
    return GroupLag(group, tuple(measure("", offsets, offsets, cluster, deadline)))
