"""Rows -> records, passed to a producer as they arrive. Knows no transactions.

Imports Arrow late: a driver makes a `RowWriter`, and only tasks use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from kafka_protocol.client.clock import Deadline, now_ms, random_seed
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.options.partitioners import Partitioner

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_protocol.columnar.writing.batch_limit import BatchLimit
    from kafka_protocol.columnar.writing.routing import Destination

# Rows of this size are routed and encoded together: enough for a few full batches in each of some
# partitions, and small in a worker's memory.
CHUNK_BYTES: Final = 8 * 1024 * 1024
# Encoded batches may wait for responses up to this size while the next rows are encoded.
_MAX_PENDING_BYTES: Final = 16 * 1024 * 1024


class RowEncoder(Protocol):
    """Encodes keys and values, such as `kafka_formats.query.record_encoder.RecordEncoder`."""

    def encode(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same rows, with bytes."""


@dataclass(frozen=True, slots=True)
class RowWriter:
    """A writer of rows. `topic` is the topic of all rows, or None if a column holds it.

    `partitioner` is for rows without a partition. `encoder` encodes keys and values; None to write
    them as they are.
    """

    columns: SinkColumns
    topic: str | None
    partitioner: Partitioner
    config: ClientConfig
    encoder: RowEncoder | None = None

    def add(self, batches: Iterable[pa.RecordBatch], producer: Producer) -> int:
        """Pass rows to a producer. The caller flushes it.

        Returns:
            The number of records.

        Raises:
            KafkaError: A row cannot be written, or a broker refused it. Names topic, partition,
                broker and the broker's error.
        """
        from kafka_protocol.columnar.writing.batch_limit import BatchLimit  # noqa: PLC0415
        from kafka_protocol.columnar.writing.partitioning import TaskPartitioner  # noqa: PLC0415
        from kafka_protocol.columnar.writing.routing import Destination  # noqa: PLC0415

        counts = _PartitionCounts(producer.cluster)
        partitioner = TaskPartitioner(self.partitioner, self.config.batch_bytes, random_seed())
        to = Destination(self.columns, self.topic, counts.count, partitioner)
        limit = BatchLimit(self.config.batch_bytes, self.config.max_request_bytes)
        added = 0
        encoded = batches if self.encoder is None else map(self.encoder.encode, batches)
        for rows in chunks_of(encoded, CHUNK_BYTES):
            self._add(rows, to, producer, limit)
            producer.push(_MAX_PENDING_BYTES)
            added += rows.num_rows
        return added

    def _add(self, rows: pa.Table, to: Destination, producer: Producer, limit: BatchLimit) -> None:
        from kafka_protocol.columnar.writing.encode import encode_gathered  # noqa: PLC0415
        from kafka_protocol.columnar.writing.routing import route  # noqa: PLC0415

        gathered, places = route(rows, to, now_ms())
        magics = [*map(producer.message_format, places)]
        for number, batch in encode_gathered(
            gathered, magics, self.config.compression, limit.sizes
        ):
            producer.add(places[number], batch.contents)
            limit.note(batch)


def chunks_of(batches: Iterable[pa.RecordBatch], max_bytes: int) -> Iterator[pa.Table]:
    """The same rows in tables of about `max_bytes`: some small batches, or a slice of a large one.

    Nothing is copied.
    """
    import pyarrow as pa  # noqa: PLC0415

    gathered: list[pa.RecordBatch] = []
    gathered_bytes = 0
    for batch in batches:
        for piece in sliced(batch, batch.nbytes, max_bytes):
            if gathered and gathered_bytes + piece.nbytes > max_bytes:
                yield pa.Table.from_batches(gathered)
                gathered, gathered_bytes = [], 0
            gathered.append(piece)
            gathered_bytes += piece.nbytes
    if gathered:
        yield pa.Table.from_batches(gathered)


def sliced(batch: pa.RecordBatch, size: int, max_bytes: int) -> Iterator[pa.RecordBatch]:
    """A batch of `size` bytes, or slices of it with the same number of rows each.

    A batch is not cut below twice the size, such as Spark's 10,000 rows of 1 kB: larger batches for
    each partition take less time.
    """
    count = max(1, size // max_bytes)
    step = max(1, -(-batch.num_rows // count))
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)


class _PartitionCounts:
    """The number of partitions of each topic, requested once for all rows."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._counts: dict[str, int] = {}

    def count(self, topic: str) -> int:
        """The number of partitions of a topic.

        Raises:
            BrokerError: The topic does not exist, or may not be described.
        """
        if topic not in self._counts:
            self._counts[topic] = self._request(topic)
        return self._counts[topic]

    def _request(self, topic: str) -> int:
        deadline = Deadline.after(self._cluster.config.max_block_ms)
        # The broker creates a missing topic if it may, as for the Java producer.
        metadata = self._cluster.settled_topics([topic], deadline, create=True).get(topic)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if metadata is None else metadata.error_code
        if code or metadata is None:
            raise BrokerError(code, f"Cannot write to topic {topic!r}")
        return len(metadata.partitions)
