"""Spark's streaming reader: the methods that Spark calls on the driver and in tasks.

`read` runs in tasks, on a copy of the reader that has planned nothing. All other methods run in one
Python process of the driver, which lives as long as the query. `latestOffset` depends on the
release of PySpark: `reader_40` for 4.0 and 4.1, `reader_42` for later ones. No arithmetic here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from kafka_formats.query.stage import Stage
from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.options.read import StreamReadOptions
from kafka_spark_source.planning.offsets_json import offsets_from_log, offsets_to_log
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.planning.strategies import names_of
from kafka_spark_source.reading.input_partition import (
    KafkaInputPartition,
    ReadsRanges,
    range_reader_of,
    read_partition,
)
from kafka_spark_source.streaming.micro_batches import MicroBatches
from kafka_spark_source.worker.errors import hide_traceback
from kafka_spark_source.worker.worker import acknowledge_at_once

if TYPE_CHECKING:
    import pyarrow as pa


_log = logging.getLogger(__name__)

# Marks an offset from `initialOffset()`, which Spark never logs. The empty topic name cannot occur
# in Kafka. Without the mark, the first micro-batch of a new query would look like the one after a
# first micro-batch whose commit was lost.
NOT_LOGGED_MARK: Final[dict[str, dict[str, int]]] = {"": {}}


class KafkaStreamReader(DataSourceStreamReader):
    """Reads a stream; `schema` has the columns to read, in order.

    `stages` make rows of the records; none if they are rows. `reads` is what tasks do with their
    ranges, by default to read them.
    """

    def __init__(
        self,
        options: StreamReadOptions,
        config: ClientConfig,
        schema: StructType,
        stages: tuple[Stage, ...] = (),
        *,
        reads: ReadsRanges | None = None,
    ) -> None:
        self.options = options
        self._config = config
        self._reader = reads or range_reader_of(options, schema, stages)
        self.batches = MicroBatches(options, config)

    def __getstate__(self) -> dict[str, Any]:
        # A task needs no connection of the driver's, and no group.
        options = replace(self.options, group_id=None)
        return {**self.__dict__, "batches": None, "options": options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        acknowledge_at_once()

    @hide_traceback()
    def initialOffset(self) -> dict[str, dict[str, int]]:
        """Where a new query starts, with NOT_LOGGED_MARK.

        Raises:
            KafkaError: The cluster cannot be reached within seconds, or a broker refuses.
        """
        for name in self.options.ignored:
            _log.warning("The option %s has no effect in a stream.", name)
        return self.logged(self.batches.start()) | NOT_LOGGED_MARK

    @hide_traceback()
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Plan the offset ranges of a micro-batch; empty where start and end are the same.

        Raises:
            KafkaError: As from `MicroBatches.plan`.
        """
        planned = self.batches.plan(offsets_from_log(start), offsets_from_log(end))
        return [KafkaInputPartition(each) for each in planned]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the ranges of one task, as Arrow batches of about 4 MB.

        Raises:
            KafkaError: Names topic, partition, offset and broker.
        """
        return read_partition(self._reader, self._config, partition)

    @hide_traceback()
    def commit(self, end: dict[str, Any]) -> None:
        """Commit the end of a finished micro-batch to the consumer group, if there is one.

        Spark calls this when it makes the next micro-batch.
        """
        self.batches.processed(offsets_from_log(end))

    def stop(self) -> None:
        """Close all connections. Spark does not always call it."""
        self.batches.close()

    def logged(self, offsets: Offsets) -> dict[str, dict[str, int]]:
        """Offsets as Spark logs them; never `{}`: its own connector takes that for no offset."""
        # point: empty-offset
        return offsets_to_log(offsets) or {name: {} for name in names_of(self.options.strategy)}
