"""Reads one planned range in a task: binds late ends, fetches, decodes to Arrow, skips losses.

Planning never enters here, nor does pyspark.
"""

from __future__ import annotations

import platform
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.fetch import (
    LogTruncatedError,
    OffsetOutOfRangeError,
    TopicGoneError,
    fetch_range,
)
from kafka_protocol.client.consumer.log_bounds import list_log_bounds_of_topic
from kafka_protocol.errors import BrokerConnectionError, KafkaTimeoutError
from kafka_protocol.topic_partition import OffsetRange
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.reading.data_loss import forward_range, range_after_loss

if TYPE_CHECKING:
    import pyarrow as pa


class PlannedRange(NamedTuple):
    """The range of one task. It is pickled.

    Attributes:
        wanted: The range. EARLIEST and LATEST are bound in the task.
        topic_id: The topic's id when the range was planned; None before Kafka 2.8.
    """

    wanted: OffsetRange
    topic_id: uuid.UUID | None


@dataclass(frozen=True, slots=True)
class RangeReader:
    """Reads ranges with the options that all tasks share.

    Attributes:
        columns: The columns, in order.
        fail_on_data_loss: Whether lost records are an error or a warning.
        poll_timeout_ms: The longest wait for the next records, in ms.
    """

    columns: tuple[str, ...]
    fail_on_data_loss: bool
    poll_timeout_ms: int

    def read(self, cluster: Cluster, planned: PlannedRange) -> Iterator[pa.RecordBatch]:
        """Read one range, as Arrow batches of about 2 MB.

        Raises:
            DataLossError: Records of the range are lost, and `fail_on_data_loss` is set.
            KafkaError: Names topic, partition, offset and broker.
        """
        # Only tasks need Arrow; the driver's planning would take twice as long with this import.
        from kafka_protocol.columnar.decode import decode_batches  # noqa: PLC0415

        rest = planned.wanted
        while True:
            try:
                with naming_the_executor(rest):
                    rest = self._bound(cluster, rest, planned.topic_id)
                    for fetched in fetch_range(
                        cluster, rest, self.poll_timeout_ms, planned.topic_id
                    ):
                        yield from decode_batches(
                            fetched.batches,
                            fetched.window,
                            self.columns,
                            max_decompressed_bytes=cluster.config.max_decompressed_bytes,
                        )
            except (OffsetOutOfRangeError, LogTruncatedError, TopicGoneError) as error:
                # The new range also cuts the decoded rows: the batch with its first offset may hold
                # older records, which were just reported as lost.
                rest = range_after_loss(error, rest, fail_on_data_loss=self.fail_on_data_loss)
            else:
                return

    def _bound(
        self, cluster: Cluster, wanted: OffsetRange, topic_id: uuid.UUID | None
    ) -> OffsetRange:
        """The range with offsets at both ends, read from the log if they are bound late.

        Raises:
            TopicGoneError: The partition was deleted, or its topic re-created.
            DataLossError: The log ends before the range begins, and `fail_on_data_loss` is set.
        """
        tp, start, until = wanted
        if start != EARLIEST and until != LATEST:
            return wanted
        log = list_log_bounds_of_topic(cluster, tp, topic_id)
        until = log.latest if until == LATEST else until
        if start == EARLIEST:
            # Records that aged out before the task began are no loss: "earliest" means now.
            start = log.earliest
            until = max(start, until)
        return forward_range(
            OffsetRange(tp, start, until), fail_on_data_loss=self.fail_on_data_loss
        )


@contextmanager
def naming_the_executor(reading: OffsetRange) -> Iterator[None]:
    """Add the executor's host to network errors: its network may differ from the driver's."""
    try:
        yield
    except (BrokerConnectionError, KafkaTimeoutError) as error:
        kind = (
            BrokerConnectionError if isinstance(error, BrokerConnectionError) else KafkaTimeoutError
        )
        raise kind(
            f"In a task on {platform.node()}, reading {reading.topic_partition}: {error}"
        ) from error
