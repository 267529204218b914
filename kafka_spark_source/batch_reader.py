"""Spark's batch reader: plan on the driver, read ranges in tasks. Holds no arithmetic of its own.

`partitions()` runs once, on the driver: which partitions, which offsets. `read()` runs in a task
for each of them. What travels between the two is one small pickle per partition.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster import Cluster
from kafka_protocol.client.config import ClientConfig
from kafka_protocol.client.fetch import OffsetOutOfRangeError, fetch_range
from kafka_protocol.client.metadata import Topic
from kafka_protocol.client.offsets import list_offsets
from kafka_protocol.client.pool import shared_cluster
from kafka_protocol.errors import BrokerError, ErrorCode
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.data_loss import offset_range_after_loss
from kafka_spark_source.errors import one_sentence
from kafka_spark_source.options import ReadOptions
from kafka_spark_source.planning import log_bounds, needed_positions, plan
from kafka_spark_source.strategies import Assign, Strategy, Subscribe, SubscribePattern

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)

# How long a task waits for records that do not come: what Spark's connector takes from
# spark.network.timeout.
_POLL_TIMEOUT_MS = 120_000


class KafkaInputPartition(InputPartition):
    """The work of one task; `value` is an `OffsetRange`."""

    value: OffsetRange


class KafkaBatchReader(DataSourceReader):
    """Reads a batch.

    Args:
        options: What to read.
        config: How to talk to the cluster.
        schema: The columns to read, in their order.
    """

    def __init__(self, options: ReadOptions, config: ClientConfig, schema: StructType) -> None:
        self._options = options
        self._config = config
        self._columns = tuple(schema.names)

    def partitions(self) -> list[InputPartition]:
        """Fix the offset ranges; one for each topic-partition.

        Raises:
            KafkaError: No broker can be reached, a topic or partition does not exist, or offsets
                that were asked for are not there. In one sentence, within seconds.
        """
        with one_sentence():
            cluster = Cluster(self._config)
            try:
                return [KafkaInputPartition(range_) for range_ in self._plan(cluster)]
            finally:
                cluster.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one range, as Arrow batches of about 2 MB.

        Raises:
            KafkaError: Names topic, partition, offset and broker.
        """
        with one_sentence():
            # Where there is no partition at all, Spark makes one without a value (4.0: a None).
            wanted = getattr(partition, "value", None)
            if wanted is not None:
                yield from self._read_range(wanted)

    def _plan(self, cluster: Cluster) -> tuple[OffsetRange, ...]:
        deadline = Deadline.after(self._config.api_timeout_ms)
        assigned, existing = _assigned(cluster, self._options.strategy, deadline)
        needed = needed_positions(existing)
        planned = plan(
            assigned,
            self._options.starting,
            self._options.ending,
            log_bounds(
                list_offsets(cluster, needed.earliest, deadline),
                list_offsets(cluster, needed.latest, deadline),
            ),
            fail_on_data_loss=self._options.fail_on_data_loss,
        )
        for warning in planned.warnings:
            _log.warning(warning)
        return planned.ranges

    def _read_range(self, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
        # Only tasks need Arrow; its import would double the time that planning takes.
        from kafka_protocol.columnar.decode import decode_batches  # noqa: PLC0415

        cluster = shared_cluster(self._config)
        rest = wanted
        while rest.from_offset < rest.until_offset:
            try:
                for fetched in fetch_range(cluster, rest, _POLL_TIMEOUT_MS):
                    yield from decode_batches(
                        fetched.batches,
                        fetched.window,
                        self._columns,
                        max_decompressed_bytes=self._config.max_decompressed_bytes,
                    )
            except OffsetOutOfRangeError as error:
                # What is kept begins there too: the batch that holds the new offset may hold
                # older records, which were reported as lost.
                rest = offset_range_after_loss(
                    error, rest, fail_on_data_loss=self._options.fail_on_data_loss
                )
            else:
                return


def _assigned(
    cluster: Cluster, strategy: Strategy, deadline: Deadline
) -> tuple[Collection[TopicPartition], Collection[TopicPartition]]:
    """The partitions that a query asks for, and those of them that exist."""
    if isinstance(strategy, SubscribePattern):
        found = cluster.topics(None, deadline).values()
        wanted = [topic for topic in found if _is_wanted(topic, strategy)]
        for topic in wanted:
            _refuse_unreadable(topic, "subscribePattern")
        partitions = _partitions(wanted)
        return partitions, partitions
    if isinstance(strategy, Subscribe):
        topics = cluster.settled_topics(strategy.topics, deadline)
        for topic in topics.values():
            _refuse_unreadable(topic, "subscribe")
        partitions = _partitions(topics.values())
        return partitions, partitions
    return strategy.partitions, _existing(cluster, strategy, deadline)


def _is_wanted(topic: Topic, pattern: SubscribePattern) -> bool:
    return not topic.is_internal and pattern.matches(topic.name)


def _existing(cluster: Cluster, assign: Assign, deadline: Deadline) -> set[TopicPartition]:
    topics = cluster.settled_topics({tp.topic for tp in assign.partitions}, deadline)
    for topic in topics.values():
        # A topic that is not there lacks all of its partitions, which planning reports.
        if topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            _refuse_unreadable(topic, "assign")
    return _partitions(topics.values()) & set(assign.partitions)


def _partitions(topics: Iterable[Topic]) -> set[TopicPartition]:
    return {TopicPartition(topic.name, number) for topic in topics for number in topic.partitions}


def _refuse_unreadable(topic: Topic, option: str) -> None:
    if topic.error_code:
        raise BrokerError(
            topic.error_code, f"Cannot read topic {topic.name!r} of the option '{option}'"
        )
