"""Spark's batch writer: rows in tasks -> records, acknowledged before a task says it is done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster import Cluster
from kafka_protocol.client.config import ClientConfig
from kafka_protocol.client.pool import shared_cluster
from kafka_protocol.client.produce import Producer
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_spark_source.errors import one_sentence
from kafka_spark_source.schema import SinkColumns

if TYPE_CHECKING:
    import pyarrow as pa


# How much a task gathers before it writes: a few full batches for each of several partitions.
_FLUSH_BYTES = 8 * 1024 * 1024


class KafkaCommitMessage(WriterCommitMessage):
    """What a task wrote.

    Args:
        records: How many records the brokers acknowledged.
    """

    def __init__(self, records: int) -> None:
        self.records = records

    def __repr__(self) -> str:
        return f"KafkaCommitMessage(records={self.records})"


class KafkaBatchWriter(DataSourceArrowWriter):
    """Appends rows to topics, at least once: a task that Spark runs again writes again.

    Args:
        columns: Which column is what.
        topic: The topic of all rows; None where a column says it.
        config: How to talk to the cluster.
    """

    def __init__(self, columns: SinkColumns, topic: str | None, config: ClientConfig) -> None:
        self._columns = columns
        self._topic = topic
        self._config = config

    def write(self, iterator: Iterator[pa.RecordBatch]) -> KafkaCommitMessage:
        """Write the rows of one task; returns when all of them are acknowledged.

        Raises:
            KafkaError: A row cannot be written, or a broker refused it. Names topic, partition,
                broker, and what the broker said.
        """
        # Only tasks need Arrow.
        from kafka_protocol.columnar.encode import encode_batches  # noqa: PLC0415
        from kafka_spark_source.routing import Destination, route  # noqa: PLC0415

        with one_sentence():
            cluster = shared_cluster(self._config)
            to = Destination(self._columns, self._topic, _PartitionCounts(cluster).count)
            producer = Producer(cluster)
            written = 0
            for rows in iterator:
                now_ms = time.time_ns() // 1_000_000
                for topic_partition, records in route(rows, to, now_ms):
                    for batch in encode_batches(
                        records,
                        self._config.compression_type,
                        self._config.batch_bytes,
                        magic=producer.message_format(topic_partition),
                    ):
                        producer.add(topic_partition, batch.data)
                        written += batch.records_count
                if producer.pending_bytes >= _FLUSH_BYTES:
                    producer.flush()
            producer.flush()
            return KafkaCommitMessage(written)


class _PartitionCounts:
    """How many partitions each topic has, asked once for a task."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._counts: dict[str, int] = {}

    def count(self, topic: str) -> int:
        """The number of partitions.

        Raises:
            BrokerError: The topic does not exist, or may not be described.
        """
        if topic not in self._counts:
            self._counts[topic] = self._ask(topic)
        return self._counts[topic]

    def _ask(self, topic: str) -> int:
        deadline = Deadline.after(self._cluster.config.api_timeout_ms)
        # As the Java producer does, where the broker allows it.
        found = self._cluster.settled_topics([topic], deadline, create=True).get(topic)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if found is None else found.error_code
        if code or found is None:
            raise BrokerError(code, f"Cannot write to topic {topic!r}")
        return len(found.partitions)
