"""Offset ranges -> smaller ones, for minPartitions and maxRecordsPerPartition. Pure arithmetic.

Source: `KafkaOffsetRangeCalculator` of Spark's Kafka connector, number by number: a job that moves
here gets the same partitions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kafka_protocol.topic_partition import OffsetRange


def split(
    ranges: Sequence[OffsetRange], min_partitions: int | None, max_records: int | None
) -> list[OffsetRange]:
    """Split ranges until there are at least, and each is at most, so many.

    Args:
        ranges: With offsets at both ends.
        min_partitions: How many ranges to make at least, roughly: each is split by its share of
            all offsets.
        max_records: How many offsets a range may span.

    Returns:
        The parts in order; empty ranges are left out.
    """
    parts = [whole for whole in ranges if _size(whole) > 0]
    if max_records is not None:
        parts = [part for whole in parts for part in _split_by_size(whole, max_records)]
    if min_partitions is not None and len(parts) < min_partitions:
        parts = _split_by_share(parts, min_partitions)
    return parts


def _split_by_size(whole: OffsetRange, max_records: int) -> Iterator[OffsetRange]:
    return _evenly(whole, -(-_size(whole) // max_records))


def _split_by_share(ranges: Sequence[OffsetRange], min_partitions: int) -> list[OffsetRange]:
    total = sum(map(_size, ranges))
    small = [each for each in ranges if _share(each, total, min_partitions) == 1]
    left_alone = {each.topic_partition for each in small}
    # What stays whole takes no part in the shares of what is split.
    rest = total - sum(map(_size, small))
    wanted = max(min_partitions - len(small), 1)
    return [
        part
        for each in ranges
        for part in (
            [each]
            if each.topic_partition in left_alone
            else _evenly(each, min(_share(each, rest, wanted), _size(each)))
        )
    ]


def _share(part: OffsetRange, total: int, parts: int) -> int:
    """How many of `parts` are a range's own; rounded as Java does, half up."""
    return max(math.floor(_size(part) / total * parts + 0.5), 1)


def _evenly(whole: OffsetRange, parts: int) -> Iterator[OffsetRange]:
    """Parts of equal size; what does not divide goes to the last ones."""
    start = whole.from_offset
    for left in range(parts, 0, -1):
        until = start + (whole.until_offset - start) // left
        yield whole._replace(from_offset=start, until_offset=until)
        start = until


def _size(part: OffsetRange) -> int:
    return part.until_offset - part.from_offset
