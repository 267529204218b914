"""The batches of one partition that are not acknowledged yet, in their order. No I/O."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Final

from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.producer.producer_id import ProducerId
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.records.batch import (
    MAGIC,
    MAGIC_AT,
    BatchContents,
    Producer,
    build_batch,
    contents_of,
    header_of,
    sequence_after,
)
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.records.splitting import split_batch
from kafka_protocol.schema import VersionRange

# The versions that carry records of each magic. Brokers refuse another one (KIP-32, KIP-98).
CARRIERS: Final = {
    0: VersionRange(0, 1),
    1: VersionRange(2, 2),
    2: VersionRange(3, ProduceRequest.versions.highest),
}
_CARRY_ZSTD: Final = VersionRange(7, ProduceRequest.versions.highest)  # KIP-110

# With these a broker says that it appended nothing. After all others it may have.
_NOTHING_APPENDED: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    }
)


@dataclass(slots=True, eq=False)
class Batch:
    """A batch, until it is acknowledged.

    Attributes:
        data: As it is sent.
        is_in_doubt: Whether it was sent, and nobody said what became of it.
        deadline: Until when it has to be there; None before the first try.
    """

    data: bytes
    is_in_doubt: bool = False
    deadline: Deadline | None = None

    @property
    def carriers(self) -> VersionRange:
        """The versions of Produce that can carry it."""
        magic = self.data[MAGIC_AT]
        is_zstd = magic == MAGIC and header_of(self.data).codec == CompressionCodec.ZSTD
        return _CARRY_ZSTD if is_zstd else CARRIERS[magic]


@dataclass(slots=True)
class Line:
    """What waits, what is under way, and what came back of one partition.

    Attributes:
        waiting: What is to be sent.
        sent: What a leader has been sent and has not answered.
        node_id: That leader.
        is_known_there: Whether it has acknowledged a batch. Until then it takes any sequence for
            the first (but for transactions of KIP-890), so one batch alone may be under way.
        returned: What was refused or lost, while answers to other batches are still to come.
        next_sequence: That of the next record that is added; 0 where nobody counts.
        retry: Of the batch that is the first now, once it failed.
        failures: How often that was.
        is_transactional: Whether a marker is to decide about what is written.
    """

    waiting: deque[Batch] = field(default_factory=deque)
    sent: deque[Batch] = field(default_factory=deque)
    node_id: int = -1
    is_known_there: bool = False
    returned: list[Batch] = field(default_factory=list)
    next_sequence: int = 0
    retry: Retry | None = None
    failures: int = 0
    is_transactional: bool = False

    def add(self, contents: BatchContents | bytes, producer: ProducerId | None) -> int:
        """Take a batch in line; returns its size in bytes."""
        data = self._stamped(contents, producer)
        self.waiting.append(Batch(data))
        return len(data)

    def may_send_to(self, node_id: int) -> bool:
        """Whether one more batch under way to that leader is no danger to their order."""
        is_counted_there = self.is_known_there and self.node_id == node_id
        return not self.sent or (bool(self.next_sequence) and is_counted_there)

    def send_first(self, node_id: int) -> None:
        """Note that the first batch is under way."""
        self.is_known_there &= node_id == self.node_id
        self.node_id = node_id
        self.sent.append(self.waiting.popleft())

    def acknowledge_first(self) -> int:
        """Note that the oldest batch under way is there; returns its size in bytes."""
        self.retry, self.failures = None, 0
        self.is_known_there = True
        return len(self.sent.popleft().data)

    def return_first(self, error: KafkaError) -> None:
        """Note that the oldest batch under way was refused, or that nobody knows."""
        batch = self.sent.popleft()
        is_known = isinstance(error, BrokerError) and error.error in _NOTHING_APPENDED
        batch.is_in_doubt |= not is_known
        self.returned.append(batch)

    def restore(self) -> None:
        """Put everything that came back in front again."""
        self.waiting.extendleft(reversed(self.returned))
        self.returned.clear()

    def split_first(self, producer: ProducerId | None, level: int | None = None) -> int | None:
        """Make two of the first batch, compressed at a level, with the time that it has left.

        Returns:
            How many bytes that adds; None for a single record, which stays.
        """
        batch = self.waiting[0]
        halves = split_batch(batch.data, level)
        if len(halves) == 1:
            return None
        self.waiting.popleft()
        following = self.next_sequence
        if producer is not None:
            self.next_sequence = header_of(batch.data).base_sequence
        stamped = [replace(batch, data=self._stamped(half, producer)) for half in halves]
        self.next_sequence = following
        self.waiting.extendleft(reversed(stamped))
        return sum(len(half.data) for half in stamped) - len(batch.data)

    def renumber(self, producer: ProducerId) -> None:
        """Begin with sequence 0 as another producer."""
        self.next_sequence = 0
        self.is_known_there = False
        for batch in self.waiting:
            batch.data = self._stamped(batch.data, producer)

    def _stamped(self, batch: BatchContents | bytes, producer: ProducerId | None) -> bytes:
        if producer is None:
            return batch if isinstance(batch, bytes) else build_batch(batch)
        contents = contents_of(batch) if isinstance(batch, bytes) else batch
        who = Producer(*producer, self.next_sequence, self.is_transactional)
        self.next_sequence = sequence_after(self.next_sequence, contents.records_count)
        return build_batch(contents._replace(producer=who))
