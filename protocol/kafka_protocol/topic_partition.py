"""What everything is addressed by: a partition, a range of its offsets, its log. Nothing else."""

from __future__ import annotations

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A topic's name and a partition's number; prints as Kafka prints it, `topic-0`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class OffsetRange(NamedTuple):
    """The records of one partition from `from_offset` up to, not including, `until_offset`."""

    topic_partition: TopicPartition
    from_offset: int
    until_offset: int


class LogBounds(NamedTuple):
    """What a partition's log holds: offsets from `earliest` up to, not including, `latest`."""

    earliest: int
    latest: int
