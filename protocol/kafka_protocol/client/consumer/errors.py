"""What a read can find gone for good: errors that say where it stood, so that a caller can go on.

Types only. Who finds out is `fetch` and `presence`; whether to go on without it, the caller.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_protocol.errors import DataLossError, KafkaError
from kafka_protocol.topic_partition import TopicPartition


class OffsetOutOfRangeError(KafkaError):
    """An offset is not, or no longer, in the log.

    Args:
        topic_partition: Where.
        offset: What was asked for.
        earliest: The first offset that is there.
        latest: The offset behind the last one that is there.
    """

    def __init__(
        self, topic_partition: TopicPartition, offset: int, earliest: int, latest: int
    ) -> None:
        self.topic_partition = topic_partition
        self.offset = offset
        self.earliest = earliest
        self.latest = latest
        super().__init__(topic_partition, offset, earliest, latest)

    def __str__(self) -> str:
        return (
            f"offset {self.offset} of {self.topic_partition} is not in the log, which holds "
            f"[{self.earliest}, {self.latest})"
        )


class TopicGoneError(DataLossError):
    """A topic or a partition was deleted, or its topic was deleted and re-created.

    Args:
        topic_partition: What was read.
        offset: The first offset that was not handed out.
        what: What became of it, after the words "Topic-partition t-0".
    """

    def __init__(self, topic_partition: TopicPartition, offset: int, what: str) -> None:
        self.topic_partition = topic_partition
        self.offset = offset
        self.what = what
        super().__init__(
            "PARTITIONS_DELETED",
            f"Topic-partition {topic_partition} {what}, and was read up to offset {offset}.",
        )

    def __reduce__(self) -> tuple[type[TopicGoneError], tuple[TopicPartition, int, str]]:
        return type(self), (self.topic_partition, self.offset, self.what)


class EpochEnd(NamedTuple):
    """A leader's epoch, and the offset behind its last record."""

    epoch: int
    end_offset: int


class LogTruncatedError(DataLossError):
    """The log was cut back behind the read, which an unclean election does (KIP-320).

    What was handed out from `truncated_to` on is no longer in the log; other records may stand
    there. Who goes on at `offset` meets nothing twice, and misses those.

    Args:
        topic_partition: Where.
        offset: The first offset that was not handed out.
        epoch: Of the last batch that was read.
        agreed: The last epoch of the leader that the read knows too, and where it ends.
    """

    def __init__(
        self, topic_partition: TopicPartition, offset: int, epoch: int, agreed: EpochEnd
    ) -> None:
        self.topic_partition = topic_partition
        self.offset = offset
        self.epoch = epoch
        self.truncated_to = agreed.end_offset
        self.agreed = agreed
        super().__init__(
            "COULD_NOT_READ_OFFSET_RANGE",
            f"The log of {topic_partition} was truncated to offset {agreed.end_offset} while it "
            f"was read, as by an unclean leader election: the read stands at offset {offset} of "
            f"leader epoch {epoch}, and the leader knows epoch {agreed.epoch} up to offset "
            f"{agreed.end_offset}.",
        )

    def __reduce__(
        self,
    ) -> tuple[type[LogTruncatedError], tuple[TopicPartition, int, int, EpochEnd]]:
        return type(self), (self.topic_partition, self.offset, self.epoch, self.agreed)
