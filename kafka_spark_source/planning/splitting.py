"""Splits offset ranges for minPartitions and maxRecordsPerPartition. Pure arithmetic.

Source: `KafkaOffsetRangeCalculator` of Spark's Kafka connector, with the same roundings, so that a
job that moves here gets the same partitions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kafka_protocol.topic_partition import OffsetRange


def split(
    ranges: Sequence[OffsetRange], min_partitions: int | None, max_records: int | None
) -> list[OffsetRange]:
    """Split ranges to reach a number of ranges and to limit the size of each.

    Args:
        ranges: Ranges with offsets at both ends.
        min_partitions: The least number of ranges, roughly: each is split by its share of all
            offsets.
        max_records: The largest number of offsets in a range.

    Returns:
        The parts in order, without empty ones.
    """
    parts = [whole for whole in ranges if whole.size > 0]
    if max_records is not None:
        parts = [part for whole in parts for part in _split_by_size(whole, max_records)]
    if min_partitions is not None and len(parts) < min_partitions:
        parts = _split_by_share(parts, min_partitions)
    return parts


def _split_by_size(whole: OffsetRange, max_records: int) -> Iterator[OffsetRange]:
    return _evenly(whole, -(-whole.size // max_records))


def _split_by_share(ranges: Sequence[OffsetRange], min_partitions: int) -> list[OffsetRange]:
    total = sum(each.size for each in ranges)
    small = [each for each in ranges if _share(each, total, min_partitions) == 1]
    not_split = {each.topic_partition for each in small}
    # Ranges that are not split do not count in the shares of the others.
    rest = total - sum(each.size for each in small)
    wanted = max(min_partitions - len(small), 1)
    return [
        part
        for each in ranges
        for part in (
            [each]
            if each.topic_partition in not_split
            else _evenly(each, min(_share(each, rest, wanted), each.size))
        )
    ]


def _share(part: OffsetRange, total: int, parts: int) -> int:
    """A range's share of `parts`, at least 1; rounded half up, as in Java."""
    return max(math.floor(part.size / total * parts + 0.5), 1)


def _evenly(whole: OffsetRange, parts: int) -> Iterator[OffsetRange]:
    """Parts of equal size; the last ones get the remainder."""
    start = whole.from_offset
    for left in range(parts, 0, -1):
        until = start + (whole.until_offset - start) // left
        yield whole._replace(from_offset=start, until_offset=until)
        start = until
