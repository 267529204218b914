"""Spark's streaming reader: what Spark calls on the driver and in tasks. Holds no arithmetic.

All but `read` runs in one Python process of the driver, which lives as long as the query; `read`
runs in tasks, on a copy of the reader that has planned nothing. How a micro-batch is asked for
depends on the release of PySpark: `limited_stream_reader` since 4.2, `plain_stream_reader` before.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.errors import one_sentence
from kafka_spark_source.options.read import StreamReadOptions
from kafka_spark_source.planning.offsets_json import offsets_from_log, offsets_to_log
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.planning.strategies import names_of
from kafka_spark_source.reading.batch_reader import (
    KafkaInputPartition,
    range_reader_of,
    read_partition,
)
from kafka_spark_source.streaming.micro_batches import MicroBatches

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)

# What a start that was never logged has more than one that was: a topic that cannot be, without
# partitions. Without it the first micro-batch of a new query could not be told from the one that
# follows a first micro-batch whose commit was lost.
MARK: Final[dict[str, dict[str, int]]] = {"": {}}


class KafkaStreamReader(DataSourceStreamReader):
    """Reads a stream.

    Args:
        options: What to read.
        config: How to talk to the cluster.
        schema: The columns to read, in their order.
    """

    def __init__(
        self, options: StreamReadOptions, config: ClientConfig, schema: StructType
    ) -> None:
        self.options = options
        self._config = config
        self._reader = range_reader_of(options, schema)
        self.batches = MicroBatches(options, config)

    def __getstate__(self) -> dict[str, Any]:
        # To a task travels what it needs, and no connection.
        return {**self.__dict__, "batches": None}

    def initialOffset(self) -> dict[str, dict[str, int]]:
        """Where a new query starts; with a mark, since Spark does not log this one.

        Raises:
            KafkaError: In one sentence, within seconds.
        """
        for name in self.options.ignored:
            _log.warning("The option %s has no effect in a stream.", name)
        with one_sentence():
            return self.logged(self.batches.start()) | MARK

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Plan the offset ranges of a micro-batch; none where start and end are the same.

        Raises:
            KafkaError: In one sentence; a DataLossError where failOnDataLoss is true.
        """
        with one_sentence():
            planned = self.batches.plan(offsets_from_log(start), offsets_from_log(end))
            return [KafkaInputPartition(each) for each in planned]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one range, as Arrow batches of about 2 MB.

        Raises:
            KafkaError: Names topic, partition, offset and broker.
        """
        return read_partition(self._reader, self._config, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Note that a micro-batch is done. Spark says so when it makes the next one."""
        with one_sentence():
            self.batches.processed(offsets_from_log(end))

    def stop(self) -> None:
        """Close all connections. Spark does not always call it."""
        self.batches.close()

    def logged(self, offsets: Offsets) -> dict[str, dict[str, int]]:
        """Offsets as Spark logs them; never `{}`, which its own connector takes for no offset."""
        return offsets_to_log(offsets) or {name: {} for name in names_of(self.options.strategy)}
