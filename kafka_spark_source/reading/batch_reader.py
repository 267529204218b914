"""Spark's batch reader: plan on the driver, read ranges in tasks. Holds no arithmetic of its own.

`partitions()` runs on the driver: which partitions, which offsets. Since PySpark 4.1 that is once
for each `load()`, before for each run of a query. `read()` runs in a task for each of them. What
travels between the two is one small pickle per partition, and the reader itself.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kafka_protocol.client.clock import Deadline, now_ms, pause
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.list_offsets import list_positions
from kafka_protocol.client.pool import shared_cluster
from kafka_protocol.errors import KafkaError
from kafka_spark_source.errors import one_sentence
from kafka_spark_source.options.read import BatchReadOptions, ReadOptions
from kafka_spark_source.planning.batch import BatchRequest, plan
from kafka_spark_source.planning.bounds import ends_of
from kafka_spark_source.planning.predicates import EVERYTHING, predicates_of
from kafka_spark_source.reading.assignment import resolve
from kafka_spark_source.reading.range_reader import PlannedRange, RangeReader
from kafka_spark_source.worker import spare_modules_from_gc

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

_log = logging.getLogger(__name__)


class KafkaInputPartition(InputPartition):
    """The work of one task."""

    value: PlannedRange


def range_reader_of(options: ReadOptions, schema: StructType) -> RangeReader:
    """What all tasks of a read share."""
    return RangeReader(tuple(schema.names), options.fail_on_data_loss, options.poll_timeout_ms)


def read_partition(
    reader: RangeReader, config: ClientConfig, partition: InputPartition
) -> Iterator[pa.RecordBatch]:
    """The work of one task, of a batch or of a stream.

    Raises:
        KafkaError: Names topic, partition, offset and broker.
    """
    with one_sentence():
        # Where there is no partition at all, Spark makes one without a value (4.0: a None).
        planned = getattr(partition, "value", None)
        if planned is not None:
            yield from reader.read(shared_cluster(config), planned)
    spare_modules_from_gc()


class KafkaBatchReader(DataSourceReader):
    """Reads a batch.

    Args:
        options: What to read.
        config: How to talk to the cluster.
        schema: The columns to read, in their order.
    """

    def __init__(self, options: BatchReadOptions, config: ClientConfig, schema: StructType) -> None:
        self._options = options
        self._config = config
        self._predicates = EVERYTHING
        self._reader = range_reader_of(options, schema)

    def partitions(self) -> list[InputPartition]:
        """Plan the offset ranges: one for each topic-partition, or more where options say so.

        Raises:
            KafkaError: No broker can be reached, a topic or partition does not exist, or offsets
                that were asked for are not there. In one sentence, within seconds.
        """
        for name in self._options.ignored:
            _log.warning("The option %s has no effect in a batch read.", name)
        with one_sentence():
            return [KafkaInputPartition(planned) for planned in self._planned()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one range, as Arrow batches of about 2 MB.

        Raises:
            KafkaError: Names topic, partition, offset and broker.
        """
        return read_partition(self._reader, self._config, partition)

    def _planned(self) -> list[PlannedRange]:
        """Plan, and where that fails for a reason that may pass as often as the options say."""
        options = self._options
        for _ in range(options.planning_attempts - 1):
            try:
                return self._plan()
            except KafkaError as error:
                if not error.retriable:
                    raise
                _log.warning("Planning failed, and is tried again: %s", error)
                pause(options.planning_interval_ms)
        return self._plan()

    def _plan(self) -> list[PlannedRange]:
        options = self._options
        deadline = Deadline.after(self._config.api_timeout_ms)
        cluster = Cluster(self._config)
        try:
            found = resolve(cluster, options.strategy, deadline)
            wanted = ends_of(
                found.assigned,
                options.starting,
                options.ending,
                now_ms=now_ms(),
                fail_on_no_match=options.fail_on_no_match,
            )
            request = BatchRequest(
                wanted, found.existing, options.fail_on_data_loss, options.parts, self._predicates
            )
            planned = plan(request, list_positions(cluster, request.needed_positions(), deadline))
        finally:
            cluster.close()
        for warning in planned.warnings:
            _log.warning(warning)
        ids = found.topic_ids
        return [PlannedRange(each, ids.get(each.topic_partition.topic)) for each in planned.ranges]


class FilteringBatchReader(KafkaBatchReader):
    """Reads what filters leave over; for Spark since 4.1, and where its switch is on.

    A class of its own, since Spark refuses a reader with this method while
    spark.sql.python.filterPushdown.enabled is off.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take what filters say about partitions, offsets and times.

        Returns:
            All of them, for Spark to apply to the rows: what is read is only roughly what they ask.
        """
        self._predicates = predicates_of(filters)
        return filters
