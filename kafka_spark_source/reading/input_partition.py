"""The tasks of a read, batch or stream: the ranges of one task, and how it reads them.

Plans nothing: `batch_reader` and `streaming.stream_reader` do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from kafka_formats.query.stage import Stage
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import shared_cluster
from kafka_spark_source.options.read import ReadOptions
from kafka_spark_source.reading.range_reader import PlannedRange, RangeReader
from kafka_spark_source.worker.errors import hide_traceback
from kafka_spark_source.worker.worker import exclude_modules_from_gc, keep_freed_memory

if TYPE_CHECKING:
    import pyarrow as pa


class KafkaInputPartition(InputPartition):
    """The ranges of one task, at least one."""

    value: Sequence[PlannedRange]


class ReadsRanges(Protocol):
    """What a task does with its ranges. It is pickled with tasks."""

    def read(self, cluster: Cluster, planned: Sequence[PlannedRange]) -> Iterator[pa.RecordBatch]:
        """The rows of the ranges."""


def range_reader_of(
    options: ReadOptions, schema: StructType, stages: tuple[Stage, ...]
) -> RangeReader:
    """The range reader that all tasks of a read share."""
    names = tuple(schema.names)
    return RangeReader(names, options.fail_on_data_loss, options.poll_timeout_ms, stages)


def read_partition(
    reader: ReadsRanges, config: ClientConfig, partition: InputPartition
) -> Iterator[pa.RecordBatch]:
    """Read the ranges of one task, of a batch or of a stream.

    Raises:
        KafkaError: Names topic, partition, offset and broker.
    """
    keep_freed_memory()
    with hide_traceback():
        # A read without partitions gets one from Spark, without a value (4.0: it is None).
        planned = getattr(partition, "value", None)  # point: empty-partition
        if planned is not None:
            yield from reader.read(shared_cluster(config), planned)
    exclude_modules_from_gc()
