"""Spark's batch reader: plans on the driver, reads ranges in tasks. No arithmetic belongs here.

`partitions()` runs on the driver: once for each `load()` since PySpark 4.1, before that once for
each run of a query. `read()` runs in one task for each partition. Tasks get the pickled reader and
one small pickle per partition.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kafka_formats.query.stage import Stage
from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.list_offsets import list_max_timestamps, list_positions
from kafka_spark_source.options.read import BatchReadOptions
from kafka_spark_source.planning.batch import BatchRequest, plan
from kafka_spark_source.planning.bounds import requested_ranges
from kafka_spark_source.planning.predicates import EVERYTHING, predicates_of
from kafka_spark_source.reading.assignment import resolve
from kafka_spark_source.reading.data_loss import raise_or_warn
from kafka_spark_source.reading.input_partition import (
    KafkaInputPartition,
    range_reader_of,
    read_partition,
)
from kafka_spark_source.reading.range_reader import PlannedRange, with_topic_ids
from kafka_spark_source.reading.retries import with_retries
from kafka_spark_source.reading.size_hints import hints_for
from kafka_spark_source.worker.errors import hide_traceback
from kafka_spark_source.worker.worker import acknowledge_at_once

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter


_log = logging.getLogger(__name__)


class KafkaBatchReader(DataSourceReader):
    """Reads a batch; `schema` has the columns to read, in order.

    `stages` make rows of the records; none if they are rows.
    """

    def __init__(
        self,
        options: BatchReadOptions,
        config: ClientConfig,
        schema: StructType,
        stages: tuple[Stage, ...] = (),
    ) -> None:
        self._options = options
        self._config = config
        self._predicates = EVERYTHING
        self._reader = range_reader_of(options, schema, stages)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        acknowledge_at_once()

    @hide_traceback()
    def partitions(self) -> list[InputPartition]:
        """Plan the offset ranges of each task: one or more for each topic-partition.

        Raises:
            KafkaError: No broker can be reached, a topic or partition does not exist, or requested
                offsets are not in the log. One sentence, within seconds.
        """
        for name in self._options.ignored:
            _log.warning("The option %s has no effect in a batch read.", name)
        return [KafkaInputPartition(ranges) for ranges in self._planned()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the ranges of one task, as Arrow batches of about 4 MB.

        Raises:
            KafkaError: Names topic, partition, offset and broker.
        """
        return read_partition(self._reader, self._config, partition)

    def _planned(self) -> list[list[PlannedRange]]:
        cluster = Cluster(self._config)
        try:
            return with_retries(partial(self._plan, cluster), cluster, self._options)
        finally:
            cluster.close()

    def _plan(self, cluster: Cluster, deadline: Deadline) -> list[list[PlannedRange]]:
        options = self._options
        assignment = resolve(cluster, options.strategy, deadline)
        wanted = requested_ranges(
            assignment.assigned,
            options.starting,
            options.ending,
            now_ms=now_ms(),
            fail_on_no_match=options.fail_on_no_match,
        )
        request = BatchRequest(wanted, assignment.existing, options.parts, self._predicates)
        listed = list_positions(cluster, request.needed_positions(), deadline)
        unknown = request.with_unknown_times(listed, {})
        newest_ms = list_max_timestamps(cluster, unknown, deadline) if unknown else {}
        planned = plan(request, listed, partial(hints_for, cluster, deadline), newest_ms)
        for loss in planned.losses:
            raise_or_warn(loss, fail_on_data_loss=options.fail_on_data_loss)
        return with_topic_ids(planned.tasks, assignment.topic_ids)


class FilteringBatchReader(KafkaBatchReader):
    """A batch reader that uses filters; needs PySpark 4.1.

    A separate class, because Spark refuses a reader with `pushFilters` unless
    spark.sql.python.filterPushdown.enabled is set.
    """

    @hide_traceback()
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take limits on partitions, offsets and timestamps from the filters.

        Returns:
            All filters, for Spark to apply to the rows, because the limits are only approximate.
        """
        predicates = predicates_of(filters)
        # A record that a filter rejects may be the newest of its key: then the key has no row.
        is_upsert = self._options.envelope.is_upsert
        # point: whole-partitions
        self._predicates = predicates.of_whole_partitions() if is_upsert else predicates
        return filters
