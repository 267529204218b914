"""How much a micro-batch reads: limits by offsets and by bytes, and waiting for enough to come.

Pure: what logs hold, and how large their records are, comes in as arguments. Source of the limit
by offsets and of the delay: `KafkaMicroBatchStream` of Spark's connector, in every rounding.
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
class Limits:
    """What a micro-batch may hold, or waits for; None: no limit.

    Attributes:
        max_offsets: The option maxOffsetsPerTrigger.
        max_bytes: The option maxBytesPerTrigger.
        min_offsets: The option minOffsetsPerTrigger.
        max_delay_ms: The option maxTriggerDelay.
    """

    max_offsets: int | None = None
    max_bytes: int | None = None
    min_offsets: int | None = None
    max_delay_ms: int = 900_000

    def check(self) -> None:
        """Refuse limits that contradict each other.

        Raises:
            KafkaConfigError: A micro-batch would wait for more than it may hold.
        """
        lowest, highest = self.min_offsets, self.max_offsets
        if lowest is not None and highest is not None and lowest > highest:
            raise KafkaConfigError(
                f"The value of minOffsetPerTrigger({lowest}) is higher than the "
                f"maxOffsetsPerTrigger({highest}): lower minOffsetsPerTrigger."
            )

    def is_too_little(self, start: Offsets, latest: Offsets) -> bool:
        """Whether to wait for more before the next micro-batch.

        Args:
            start: What was read so far; a partition that is not in it counts from 0.
            latest: Where the logs end.
        """
        if self.min_offsets is None:
            return False
        return sum(end - start.get(tp, 0) for tp, end in latest.items()) < self.min_offsets


def within_offsets(begin: Offsets, latest: Offsets, limit: int) -> dict[TopicPartition, int]:
    """Share a number of offsets out among partitions, in proportion to what each has to offer.

    Args:
        begin: Where the micro-batch begins in each partition of `latest`.
        latest: Where the logs end; in a log that was cut back that is before the beginning.
        limit: How many offsets, in all; shares are rounded, so it can be a few more.

    Returns:
        Where to end in each partition: at its latest offset at the most.
    """
    sizes = _sizes(begin, latest)
    return _shared_out(begin, latest, limit, sum(sizes.values()))


def within_bytes(
    begin: Offsets, latest: Offsets, bytes_per_offset: Mapping[TopicPartition, float], limit: int
) -> dict[TopicPartition, int]:
    """The same for a number of bytes.

    Args:
        begin: Where the micro-batch begins in each partition of `latest`.
        latest: Where the logs end.
        bytes_per_offset: How large the next records are, in each partition that has any.
        limit: How many bytes, in all, about.
    """
    sizes = _sizes(begin, latest)
    total = sum(size * bytes_per_offset[tp] for tp, size in sizes.items())
    return _shared_out(begin, latest, limit, total)


def _sizes(begin: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
    return {tp: end - begin[tp] for tp, end in latest.items() if end > begin[tp]}


def _shared_out(
    begin: Offsets, latest: Offsets, limit: int, total: float
) -> dict[TopicPartition, int]:
    """The same part, limit / total, of what each partition has to offer; all where that is less."""
    ends = dict(latest)
    if total < limit:
        return ends
    for tp, size in _sizes(begin, latest).items():
        share = limit * (size / total)
        # Small partitions are not starved.
        offsets = math.ceil(share) if share < 1 else math.floor(share)
        ends[tp] = min(latest[tp], begin[tp] + offsets)
    return ends
