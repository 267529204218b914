"""Reads the planned ranges of a task: binds late ends, fetches, decodes to Arrow, skips losses.

Planning never enters here, nor does pyspark.
"""

from __future__ import annotations

import logging
import platform
import uuid
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kafka_formats.query.stage import Stage, through
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.consumer.errors import (
    LogTruncatedError,
    OffsetOutOfRangeError,
    TopicGoneError,
)
from kafka_protocol.client.consumer.fetch import fetch_rest
from kafka_protocol.client.consumer.fetch_request import PartlyRead
from kafka_protocol.client.consumer.fetch_together import FetchTogether
from kafka_protocol.client.consumer.log_bounds import (
    list_log_bounds_of_topic,
    list_log_bounds_together,
)
from kafka_protocol.client.consumer.topic_identity import lacks_topic
from kafka_protocol.errors import BrokerConnectionError, KafkaTimeoutError
from kafka_protocol.records.fetch_response import UNKNOWN_EPOCH, Fetched, TakeBatches
from kafka_protocol.topic_partition import LogBounds, OffsetRange
from kafka_spark_source.planning.coalescing import Task
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.reading.data_loss import forward_range, range_after_loss

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)


class PlannedRange(NamedTuple):
    """A range that a task reads, perhaps beside others. It is pickled.

    Attributes:
        wanted: The range. EARLIEST and LATEST are bound in the task.
        topic_id: The topic's id when the range was planned; None before Kafka 2.8.
    """

    wanted: OffsetRange
    topic_id: uuid.UUID | None


def with_topic_ids(tasks: Iterable[Task], ids: Mapping[str, uuid.UUID]) -> list[list[PlannedRange]]:
    """The ranges of each task, with the ids that their topics have now."""
    planned = [
        [PlannedRange(each, ids.get(each.topic_partition.topic)) for each in task] for task in tasks
    ]
    # Spark's plan shows no details of a Python source.
    _log.info("%d ranges are read by %d tasks.", sum(map(len, planned)), len(planned))
    return planned


@dataclass(frozen=True, slots=True)
class RangeReader:
    """Reads ranges with the options that all tasks share.

    Attributes:
        columns: The columns, in order.
        fail_on_data_loss: Whether lost records are an error or a warning.
        poll_timeout_ms: The longest wait for the next records, in ms.
        stages: What makes rows of the records; none if they are rows.
    """

    columns: tuple[str, ...]
    fail_on_data_loss: bool
    poll_timeout_ms: int
    stages: tuple[Stage, ...] = ()

    def read(self, cluster: Cluster, planned: Sequence[PlannedRange]) -> Iterator[pa.RecordBatch]:
        """Read the ranges of a task one after the other, as Arrow batches of about 4 MB.

        Rows are in the order of ranges and offsets, whatever brokers do: Spark may run a task
        again, and expects the same rows.

        Raises:
            DataLossError: Records of a range are lost, and `fail_on_data_loss` is set.
            KafkaError: Names topic, partition, offset and broker.
        """
        # Only tasks need Arrow.
        from kafka_spark_source.reading.topic_id_column import TopicIdColumn  # noqa: PLC0415

        ids = {each.wanted.topic_partition.topic: each.topic_id for each in planned}
        columns = self.stages[0].source_columns if self.stages else self.columns
        first = TopicIdColumn(columns, ids)
        records = self._fetched_records(cluster, planned, first.source_columns)
        return through((first, *self.stages), records)

    def _fetched_records(
        self, cluster: Cluster, planned: Sequence[PlannedRange], columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """All records of the ranges. A single range gives the records of each response at once."""
        if len(planned) == 1:
            for fetched in self._fetched_alone(cluster, PartlyRead(*planned[0])):
                yield from _decoded(cluster, [fetched], columns)
                del fetched  # so that the next response can have its memory
        else:
            yield from _decoded(cluster, self._fetched_together(cluster, planned), columns)

    def _fetched_together(
        self, cluster: Cluster, planned: Sequence[PlannedRange]
    ) -> Iterator[Fetched]:
        readings = self._bound_together(cluster, planned)
        bound = [each for each in readings if not _is_late(each.rest)]
        gone: dict[str, TopicGoneError] = {}
        with closing(FetchTogether(cluster, bound, _take_batches())) as together:
            for reading in readings:
                topic_partition = reading.rest.topic_partition
                yield from together.fetched_of(topic_partition)
                if not _is_left(reading):
                    continue
                if topic_partition.topic in gone:
                    self._lose(reading, gone[topic_partition.topic])
                else:
                    error = yield from self._fetched_alone(cluster, reading)
                    # Each range would wait until brokers had the time to learn of the topic.
                    if error and lacks_topic(cluster, topic_partition.topic, reading.topic_id):
                        gone[topic_partition.topic] = error

    def _lose(self, reading: PartlyRead, gone: TopicGoneError) -> None:
        """Warn of the rest of another range of a topic that is gone."""
        offset = max(0, reading.rest.from_offset)
        error = TopicGoneError(reading.rest.topic_partition, offset, gone.what)
        range_after_loss(error, reading.rest, fail_on_data_loss=self.fail_on_data_loss)

    def _fetched_alone(
        self, cluster: Cluster, reading: PartlyRead
    ) -> Generator[Fetched, None, TopicGoneError | None]:
        """Read a range. Without `fail_on_data_loss`, returns the error of a topic that is gone."""
        rest, topic_id, epoch = reading.rest, reading.topic_id, reading.epoch
        gone = None
        while True:
            try:
                with naming_the_executor(rest):
                    rest = self._bound(cluster, rest, topic_id)
                    reading = PartlyRead(rest, topic_id, epoch)
                    yield from fetch_rest(cluster, reading, self.poll_timeout_ms, _take_batches())
            except (OffsetOutOfRangeError, LogTruncatedError, TopicGoneError) as error:
                # The new range also cuts the decoded rows: the batch with its first offset may hold
                # older records, which were just reported as lost.
                rest = range_after_loss(error, rest, fail_on_data_loss=self.fail_on_data_loss)
                epoch = UNKNOWN_EPOCH
                gone = error if isinstance(error, TopicGoneError) else None
            else:
                return gone

    def _bound_together(
        self, cluster: Cluster, planned: Sequence[PlannedRange]
    ) -> list[PartlyRead]:
        """The ranges, with offsets at both ends except where a log cannot be asked now."""
        late = {
            wanted.topic_partition: topic_id for wanted, topic_id in planned if _is_late(wanted)
        }
        logs = list_log_bounds_together(cluster, late) if late else {}
        return [
            PartlyRead(
                self._within(wanted, logs[wanted.topic_partition])
                if wanted.topic_partition in logs
                else wanted,
                topic_id,
            )
            for wanted, topic_id in planned
        ]

    def _bound(
        self, cluster: Cluster, wanted: OffsetRange, topic_id: uuid.UUID | None
    ) -> OffsetRange:
        """The range with offsets at both ends, read from the log if they are bound late.

        Raises:
            TopicGoneError: The partition was deleted, or its topic re-created.
            DataLossError: The log ends before the range begins, and `fail_on_data_loss` is set.
        """
        if not _is_late(wanted):
            return wanted
        log = list_log_bounds_of_topic(cluster, wanted.topic_partition, topic_id)
        return self._within(wanted, log)

    def _within(self, wanted: OffsetRange, log: LogBounds) -> OffsetRange:
        tp, start, until = wanted
        until = log.latest if until == LATEST else until
        if start == EARLIEST:
            # Records that aged out before the task began are not a loss: "earliest" means now.
            start = log.earliest
            until = max(start, until)
        return forward_range(
            OffsetRange(tp, start, until), fail_on_data_loss=self.fail_on_data_loss
        )


def _decoded(
    cluster: Cluster, fetched: Iterable[Fetched], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    # Only tasks need Arrow; the driver's planning would take twice as long with this import.
    from kafka_protocol.columnar.reading.decode import decode_batches, target_bytes_of  # noqa: PLC0415

    return decode_batches(
        fetched,
        columns,
        max_decompressed_bytes=cluster.config.max_decompressed_bytes,
        target_bytes=target_bytes_of(cluster.config.max_partition_fetch_bytes),
    )


def _is_late(wanted: OffsetRange) -> bool:
    return wanted.from_offset == EARLIEST or wanted.until_offset == LATEST


def _is_left(reading: PartlyRead) -> bool:
    """Whether records may remain. A late end is unknown, so it counts as remaining."""
    return _is_late(reading.rest) or not reading.is_done


def _take_batches() -> TakeBatches:
    from kafka_protocol.columnar.reading.batch_columns import take_batch_columns  # noqa: PLC0415

    return take_batch_columns


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
