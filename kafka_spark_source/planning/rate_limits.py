"""Rate limits of a micro-batch: by offsets, by bytes, and a minimum to wait for.

Pure: offsets and record sizes come in as arguments. Source of the limit by offsets and of the
minimum: `KafkaMicroBatchStream` of Spark's connector, with the same roundings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition

Offsets: TypeAlias = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The options `...PerTrigger`, `minOffsetsPerTopic` and `maxTriggerDelay` of a stream.

    None: no limit.
    """

    max_offsets: int | None = None
    max_bytes: int | None = None
    min_offsets: int | None = None
    min_offsets_per_topic: int | None = None
    max_delay_ms: int = 900_000

    def check(self) -> None:
        """Refuse limits that contradict each other.

        Raises:
            KafkaConfigError: The minimum is larger than the maximum.
        """
        lowest, highest = self.min_offsets, self.max_offsets
        if lowest is not None and highest is not None and lowest > highest:
            raise KafkaConfigError(
                f"The value of minOffsetPerTrigger({lowest}) is higher than the "
                f"maxOffsetsPerTrigger({highest}): lower minOffsetsPerTrigger."
            )

    def is_too_little(self, start: Offsets, latest: Offsets) -> bool:
        """Whether there are fewer new offsets than `min_offsets`; a missing `start` is 0."""
        if self.min_offsets is None:
            return False
        return sum(end - start.get(tp, 0) for tp, end in latest.items()) < self.min_offsets

    def small_topics(self, begin: Offsets, latest: Offsets) -> set[str]:
        """The topics with fewer new offsets than `min_offsets_per_topic`.

        A topic with a log that ends before its `begin` is left out: a loss does not wait.
        """
        if self.min_offsets_per_topic is None:
            return set()
        new: dict[str, float] = {}
        for tp, end in latest.items():
            offsets = end - begin[tp]
            new[tp.topic] = new.get(tp.topic, 0) + (offsets if offsets >= 0 else math.inf)
        return {topic for topic, offsets in new.items() if offsets < self.min_offsets_per_topic}


def within_offsets(begin: Offsets, latest: Offsets, limit: int) -> dict[TopicPartition, int]:
    """Limit a micro-batch to a number of offsets, in proportion to the offsets of each partition.

    Args:
        begin: The start of the micro-batch in each partition of `latest`.
        latest: The ends of the logs; before `begin` in a log that was truncated.
        limit: The number of offsets in total; roundings may exceed it a little.

    Returns:
        The end of the micro-batch in each partition, at most the end of its log.
    """
    sizes = _sizes(begin, latest)
    return _scaled(begin, latest, limit, sum(sizes.values()))


def within_bytes(
    begin: Offsets, latest: Offsets, bytes_per_offset: Mapping[TopicPartition, float], limit: int
) -> dict[TopicPartition, int]:
    """As `within_offsets`, with a limit of about that many bytes.

    `bytes_per_offset` has the size of the next records of each partition with records to read.
    """
    sizes = _sizes(begin, latest)
    total = sum(size * bytes_per_offset[tp] for tp, size in sizes.items())
    return _scaled(begin, latest, limit, total)


def _sizes(begin: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
    return {tp: end - begin[tp] for tp, end in latest.items() if end > begin[tp]}


def _scaled(begin: Offsets, latest: Offsets, limit: int, total: float) -> dict[TopicPartition, int]:
    """The fraction limit / total of each partition's offsets, or all of them."""
    ends = dict(latest)
    if total < limit:
        return ends
    for tp, size in _sizes(begin, latest).items():
        share = limit * (size / total)
        # Rounded up below 1, so that small partitions are read too.
        offsets = math.ceil(share) if share < 1 else math.floor(share)
        ends[tp] = min(latest[tp], begin[tp] + offsets)
    return ends
