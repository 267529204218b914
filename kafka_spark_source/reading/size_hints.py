"""Hints for planning: the leaders of partitions, and the sizes of their records.

Requests a sample of each topic. Only an estimate: nothing fails without it. No arithmetic on ranges
belongs here: that is `planning.coalescing`.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import nlargest
from operator import attrgetter
from typing import Final

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.record_sizes import bytes_per_offset
from kafka_protocol.errors import KafkaError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.planning.coalescing import Hints

# So few records are one task's work, unless they are very large.
_FEW_RECORDS: Final = 2_000

# The partitions of each topic with the most records that are sampled, and for how long.
_SAMPLED: Final = 3
_SAMPLE_MS: Final = 1_000


def hints_for(cluster: Cluster, deadline: Deadline, ranges: Sequence[OffsetRange]) -> Hints:
    """The leaders that are known without a request, and the mean size of a record in each topic.

    Sizes are unknown where there are only a few records in all, or brokers do not respond at once.
    """
    leaders = cluster.known_leaders(each.topic_partition for each in ranges)
    if sum(each.size for each in ranges) <= _FEW_RECORDS:
        return Hints(leaders, {})
    try:
        return Hints(leaders, _mean_sizes(cluster, ranges, deadline.capped_at(_SAMPLE_MS)))
    except KafkaError:
        return Hints(leaders, {})


def _mean_sizes(
    cluster: Cluster, ranges: Sequence[OffsetRange], deadline: Deadline
) -> Mapping[str, float]:
    by_topic: dict[str, list[OffsetRange]] = defaultdict(list)
    for each in ranges:
        by_topic[each.topic_partition.topic].append(each)
    offsets: dict[TopicPartition, int] = {
        each.topic_partition: each.from_offset
        for of_topic in by_topic.values()
        for each in nlargest(_SAMPLED, of_topic, key=attrgetter("size"))
        if each.size
    }
    sampled: dict[str, list[float]] = defaultdict(list)
    for topic_partition, size in bytes_per_offset(cluster, offsets, deadline).items():
        sampled[topic_partition.topic].append(size)
    return {topic: statistics.fmean(sizes) for topic, sizes in sampled.items()}
