"""Errors for data that is gone, each with the position of the read, so that a caller can continue.

Types only: `fetch` and `topic_identity` raise them.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_protocol.errors import DataLossError, KafkaError
from kafka_protocol.topic_partition import TopicPartition


class OffsetOutOfRangeError(KafkaError):
    """An offset is not, or no longer, in the log: from `earliest` on, below `latest`."""

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

    `offset` is the first that was not yielded. `what` is the rest of a sentence that begins with
    "Topic-partition t-0".
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
    """A leader epoch, and the offset after its last record."""

    epoch: int
    end_offset: int


class LogTruncatedError(DataLossError):
    """The log was truncated to below the position, as by an unclean leader election (KIP-320).

    Records yielded from `truncated_to` on are no longer in the log; others may have their offsets.
    A read that continues at `offset` gets no offset twice, and misses the other records.

    Args:
        topic_partition: The partition.
        offset: The first offset that was not yielded.
        epoch: The leader epoch of the last batch that was read.
        agreed: The last epoch that the leader and the read have in common, and its end.
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
