"""What tests of losses under a stream have in common: what befalls a topic, and when."""

from __future__ import annotations

import pytest

from kafka_protocol.topic_partition import TopicPartition
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.reading import PARTITION
from tests.fakes.stream_reading import MOMENTS

OTHER = TopicPartition("u", 0)
FAIL_OR_NOT = pytest.mark.parametrize("fail_on_data_loss", [True, False], ids=["fail", "go on"])
GO_ON = {"failOnDataLoss": False}
LIMITS = pytest.mark.parametrize(
    "limits",
    [{}, {"maxOffsetsPerTrigger": 2}, {"maxBytesPerTrigger": 150}, {"minOffsetsPerTrigger": 3}],
    ids=["no limit", "offsets", "bytes", "at least"],
)
AFTER_THE_LOG = MOMENTS[MOMENTS.index("end logged") :]


def fill(cluster: ScriptedCluster, *names: str, partition: TopicPartition = PARTITION) -> list[str]:
    for name in names:
        cluster.append(partition, name.encode())
    return [*names]


def create_anew(cluster: ScriptedCluster, count: int, partitions: int = 1) -> list[str]:
    """Another topic of the same name; returns its values."""
    cluster.add_topic("t", partitions)
    return fill(cluster, *(f"new {number}" for number in range(count)))
