"""What a task does: one planned range -> Arrow batches, and what becomes of it on the way."""

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
from kafka_protocol.client.consumer.log_bounds import ends_of_log
from kafka_protocol.errors import BrokerConnectionError, KafkaTimeoutError
from kafka_protocol.topic_partition import OffsetRange
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.reading.data_loss import range_after_loss, range_ahead

if TYPE_CHECKING:
    import pyarrow as pa


class PlannedRange(NamedTuple):
    """What travels to a task.

    Attributes:
        wanted: The range; its ends may be EARLIEST and LATEST, and are bound in the task then.
        topic_id: What the topic was when the range was planned; None where brokers tell no ids.
    """

    wanted: OffsetRange
    topic_id: uuid.UUID | None


@dataclass(frozen=True, slots=True)
class RangeReader:
    """How to read ranges.

    Attributes:
        columns: Which columns, in which order.
        fail_on_data_loss: Whether records that are gone are an error, or a warning.
        poll_timeout_ms: How long to wait for records that do not come.
    """

    columns: tuple[str, ...]
    fail_on_data_loss: bool
    poll_timeout_ms: int

    def read(self, cluster: Cluster, planned: PlannedRange) -> Iterator[pa.RecordBatch]:
        """Read one range, as Arrow batches of about 2 MB.

        Raises:
            DataLossError: Records of the range are gone, and `fail_on_data_loss` is set.
            KafkaError: Names topic, partition, offset and broker.
        """
        # Only tasks need Arrow; its import would double the time that planning takes.
        from kafka_protocol.columnar.decode import decode_batches  # noqa: PLC0415

        rest = planned.wanted
        while True:
            try:
                with _said_by_a_task(rest):
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
                # What is kept begins there too: the batch that holds the new offset may hold
                # older records, which were reported as lost.
                rest = range_after_loss(error, rest, fail_on_data_loss=self.fail_on_data_loss)
            else:
                return

    def _bound(
        self, cluster: Cluster, wanted: OffsetRange, topic_id: uuid.UUID | None
    ) -> OffsetRange:
        """The range with offsets at both ends: those that are bound late, as the log is now.

        Raises:
            TopicGoneError: There is no such partition any more, or it is one of another topic.
            DataLossError: The log ends before the range begins, and `fail_on_data_loss` is set.
        """
        tp, start, until = wanted
        if start != EARLIEST and until != LATEST:
            return wanted
        log = ends_of_log(cluster, tp, topic_id)
        until = log.latest if until == LATEST else until
        if start == EARLIEST:
            # What aged out before the task began was not asked for.
            start = log.earliest
            until = max(start, until)
        return range_ahead(OffsetRange(tp, start, until), fail_on_data_loss=self.fail_on_data_loss)


@contextmanager
def _said_by_a_task(reading: OffsetRange) -> Iterator[None]:
    """Let an error of the network say which side it comes from: executors may have another one."""
    try:
        yield
    except (BrokerConnectionError, KafkaTimeoutError) as error:
        kind = (
            BrokerConnectionError if isinstance(error, BrokerConnectionError) else KafkaTimeoutError
        )
        raise kind(
            f"In a task on {platform.node()}, reading {reading.topic_partition}: {error}"
        ) from error
