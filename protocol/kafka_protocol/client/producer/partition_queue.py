"""The batches of one partition that are not acknowledged yet, in their order. No I/O.

`producer` sends them, and decides what follows an error.
"""

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
from kafka_protocol.wire.schema import VersionRange

# The versions of Produce for records of each magic. Brokers refuse any other (KIP-32, KIP-98).
VERSIONS_OF_MAGIC: Final = {  # point: produce-magic
    0: VersionRange(0, 1),
    1: VersionRange(2, 2),
    2: VersionRange(3, ProduceRequest.versions.highest),
}
_VERSIONS_OF_ZSTD: Final = VersionRange(7, ProduceRequest.versions.highest)  # KIP-110

# After these errors the broker appended nothing. After all others it may have.
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
    """A batch to send, until it is acknowledged."""

    data: bytes
    may_be_appended: bool = False  # whether a try was sent of which the outcome is unknown
    may_arrive: bool = False  # whether a try without a response may be on its way
    deadline: Deadline | None = None  # the end of its delivery time; None before the first try

    @property
    def versions(self) -> VersionRange:
        """The versions of Produce that can carry the batch."""
        magic = self.data[MAGIC_AT]
        is_zstd = magic == MAGIC and header_of(self.data).codec == CompressionCodec.ZSTD
        return _VERSIONS_OF_ZSTD if is_zstd else VERSIONS_OF_MAGIC[magic]


@dataclass(slots=True)
class PartitionQueue:
    """The batches of one partition: waiting, in flight to its leader, and returned."""

    waiting: deque[Batch] = field(default_factory=deque)
    in_flight: deque[Batch] = field(default_factory=deque)
    node_id: int = -1  # the leader that they were sent to
    # Whether that leader has acknowledged a batch. Before that, it accepts any sequence as the
    # first (except for transactions of KIP-890), so only one batch may be in flight.
    is_known_to_leader: bool = False
    returned: list[Batch] = field(default_factory=list)  # failed, and others are still in flight
    next_sequence: int = 0  # of the next record; stays 0 without a producer id
    retry: Retry | None = None  # the back-off of the first batch, once it failed
    failures: int = 0  # of the first batch
    is_transactional: bool = False

    @property
    def may_arrive(self) -> bool:
        """Whether a batch that is not acknowledged may still arrive at a broker."""
        unsettled = (batch.may_arrive for batch in (*self.returned, *self.waiting))
        return bool(self.in_flight) or any(unsettled)

    def add(self, contents: BatchContents | bytes, producer: ProducerId | None) -> int:
        """Append a batch to the waiting ones; returns its size in bytes."""
        data = self._numbered(contents, producer)
        self.waiting.append(Batch(data))
        return len(data)

    def may_send_to(self, node_id: int) -> bool:
        """Whether one more batch in flight to that leader cannot change the order.

        A batch that is sent again is sent alone, as in Java's RecordAccumulator: it may be in the
        log already, and a leader recognises the last five batches only. If later batches are
        appended, it may no longer be one of these five.
        """
        checks_sequences = self.is_known_to_leader and self.node_id == node_id
        is_retried = bool(self.failures) or self.waiting[0].deadline is not None
        return not self.in_flight or (
            bool(self.next_sequence) and checks_sequences and not is_retried
        )

    def mark_first_sent(self, node_id: int) -> None:
        """Move the first waiting batch to the batches in flight."""
        self.is_known_to_leader &= node_id == self.node_id
        self.node_id = node_id
        self.in_flight.append(self.waiting.popleft())

    def acknowledge_first(self) -> int:
        """Remove the oldest batch in flight; returns its size in bytes."""
        self.retry, self.failures = None, 0
        self.is_known_to_leader = True
        return len(self.in_flight.popleft().data)

    def return_first(self, error: KafkaError) -> None:
        """Move the oldest batch in flight, which failed, to the returned ones."""
        batch = self.in_flight.popleft()
        is_appended_nowhere = isinstance(error, BrokerError) and error.error in _NOTHING_APPENDED
        batch.may_be_appended |= not is_appended_nowhere
        batch.may_arrive |= not isinstance(error, BrokerError)
        self.returned.append(batch)

    def requeue_returned(self) -> None:
        """Put the returned batches in front of the waiting ones."""
        self.waiting.extendleft(reversed(self.returned))
        self.returned.clear()

    def split_first(self, producer: ProducerId | None, level: int | None = None) -> int | None:
        """Replace the first batch by its two halves, compressed at a level, with its deadline.

        Returns:
            The bytes that this adds; None for a single record, which stays.
        """
        batch = self.waiting[0]
        halves = split_batch(batch.data, level)
        if len(halves) == 1:
            return None
        self.waiting.popleft()
        following = self.next_sequence
        if producer is not None:
            self.next_sequence = header_of(batch.data).base_sequence
        numbered = [replace(batch, data=self._numbered(half, producer)) for half in halves]
        self.next_sequence = following
        self.waiting.extendleft(reversed(numbered))
        return sum(len(half.data) for half in numbered) - len(batch.data)

    def renumber(self, producer: ProducerId) -> None:
        """Give the waiting batches another producer id, and sequences from 0 on."""
        self.next_sequence = 0
        self.is_known_to_leader = False
        for batch in self.waiting:
            batch.data = self._numbered(batch.data, producer)

    def _numbered(self, batch: BatchContents | bytes, producer: ProducerId | None) -> bytes:
        """The batch with the producer's id and the next sequence."""
        if producer is None:
            return batch if isinstance(batch, bytes) else build_batch(batch)
        contents = contents_of(batch) if isinstance(batch, bytes) else batch
        numbered = Producer(*producer, self.next_sequence, is_transactional=self.is_transactional)
        self.next_sequence = sequence_after(self.next_sequence, contents.records_count)
        return build_batch(contents._replace(producer=numbered))
