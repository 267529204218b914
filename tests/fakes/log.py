"""Batches as producers and coordinators send them, and a partition's log as tests see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_protocol.records.batch import (
    NO_PRODUCER,
    BatchHeader,
    Producer,
    RecordBatch,
    check_crc,
    read_batches,
)
from kafka_protocol.records.record import Record, decode_records
from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.kafka import batches
from tests.simulation.kafka.batches import Marker, marker_batch, placed
from tests.simulation.kafka.producers import rebuilt

if TYPE_CHECKING:
    from tests.fakes.cluster import FakeCluster
    from tests.simulation.kafka.replica import Replica

START_MS = 1_700_000_000_000


def batch_of(*values: bytes, timestamp: int = START_MS, producer: Producer = NO_PRODUCER) -> bytes:
    """A batch as a producer sends it: these values, without keys."""
    records = [Record(number, timestamp, None, value) for number, value in enumerate(values)]
    return batches.batch_of(records, producer)


def keyed_batch_of(*pairs: tuple[bytes | None, bytes | None]) -> bytes:
    """A batch with these keys and values; a value of None is a tombstone."""
    return batches.batch_of([Record(number, START_MS, *pair) for number, pair in enumerate(pairs)])


def in_transaction(producer_id: int, *values: bytes) -> bytes:
    """A batch of a transaction."""
    return batch_of(*values, producer=Producer(producer_id, 0, 0, is_transactional=True))


def marker(producer_id: int, type_: int) -> bytes:
    """The control batch that ends a transaction: ABORT or COMMIT."""
    return marker_batch(producer_id, 0, Marker(type_, 0), START_MS)


class PartitionLog:
    """A partition's log: what its leader has, and changes of it on all replicas at once."""

    __slots__ = ("_cluster", "_topic_partition")

    def __init__(self, cluster: FakeCluster, topic_partition: TopicPartition) -> None:
        self._cluster = cluster
        self._topic_partition = topic_partition

    def append(self, batch: bytes) -> int:
        """Check and append a producer's batch; returns its offset."""
        (found,) = read_batches(memoryview(batch))
        check_crc(found)
        with self._cluster.changing():
            leader = self._leader
            stored = placed(batch, leader.log.end_offset, leader.epoch)
            leader.append([stored])
        return stored.base_offset

    def append_at(self, offset: int, batch: bytes, epoch: int | None = None) -> None:
        """Append a batch at an offset, perhaps behind a gap; nothing is checked.

        Its leader epoch is that of the leader, unless it is given.
        """
        with self._cluster.changing():
            leader = self._leader
            leader.append([placed(batch, offset, leader.epoch if epoch is None else epoch)])

    def end_transaction(self, producer_id: int, type_: int) -> None:
        """Append a marker for the open transaction of a producer."""
        self.append(marker(producer_id, type_))

    def delete_before(self, offset: int) -> None:
        """Delete batches that end before `offset`, as retention does."""
        with self._cluster.changing():
            self._leader.delete_before(offset)

    def truncate(self, offset: int) -> None:
        """Delete batches from `offset` on, as an unclean leader election does."""
        with self._cluster.changing():
            for broker in self._cluster.simulated.brokers.values():
                broker.replicas[self._topic_partition].truncate(offset)

    def forget_producers(self) -> None:
        """Forget all producers, as below 2.5 after retention deleted their records."""
        replica = self._leader
        keeps = replica.broker.release.keeps_unknown_producers
        replica.producers = rebuilt([], keeps_unknown=keeps)

    @property
    def _leader(self) -> Replica:
        return self._cluster.simulated.best(self._topic_partition)

    @property
    def start_offset(self) -> int:
        return self._leader.log.start_offset

    @property
    def end_offset(self) -> int:
        return self._leader.log.end_offset

    @property
    def batches(self) -> list[RecordBatch]:
        data = b"".join(stored.data for stored in self._leader.log.batches)
        return [*read_batches(memoryview(data))]

    @property
    def records(self) -> list[Record]:
        """All records but those of control batches."""
        data = (batch for batch in self.batches if not batch.header.is_control)
        return [record for batch in data for record in decode_records(batch)]

    @property
    def values(self) -> list[bytes]:
        return [record.value or b"" for record in self.records]

    @property
    def data_headers(self) -> list[BatchHeader]:
        """The headers of all batches but control batches."""
        headers = (batch.header for batch in self.batches)
        return [h for h in headers if isinstance(h, BatchHeader) and not h.is_control]
