"""A partition, a range of its offsets, and the bounds of its log. Nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A topic's name and a partition's number; its text is Kafka's, `topic-0`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """Partitions grouped by topic name, in the given order."""
    topics: dict[str, list[TopicPartition]] = {}
    for topic_partition in partitions:
        topics.setdefault(topic_partition.topic, []).append(topic_partition)
    return topics


class OffsetRange(NamedTuple):
    """The records of one partition from `from_offset` up to, not including, `until_offset`."""

    topic_partition: TopicPartition
    from_offset: int
    until_offset: int

    @property
    def size(self) -> int:
        """The number of offsets."""
        return self.until_offset - self.from_offset

    @property
    def is_empty(self) -> bool:
        """Whether there is no offset in it."""
        return self.from_offset >= self.until_offset


class LogBounds(NamedTuple):
    """The offsets in a partition's log, from `earliest` up to, not including, `latest`."""

    earliest: int
    latest: int

    @classmethod
    def of(cls, earliest: int, offsets: Iterable[int]) -> LogBounds:
        """The bounds of a log, from `earliest` and all offsets that ListOffsets returned for it.

        The responses are not of one moment. If the log grew in between, the largest offset is its
        end. If it lost its oldest records, it may count as empty.
        """
        return cls(earliest, max([earliest, *offsets]))
