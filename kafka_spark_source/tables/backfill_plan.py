"""Plans backfills at the start of a query: all before its position, for tables that are missing."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import Final

from pyspark.sql import SparkSession

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.nearest_name import did_you_mean
from kafka_protocol.topic_partition import OffsetRange
from kafka_spark_source.options.read import parse_stream_options
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.streaming.logs import StreamLogs
from kafka_spark_source.tables.arguments import Arguments
from kafka_spark_source.tables.backfill import Backfill, Backfills
from kafka_spark_source.tables.checkpoint import finished
from kafka_spark_source.tables.late import LateTopics
from kafka_spark_source.tables.ranges import by_topic, without
from kafka_spark_source.tables.writer import TableWriter

_log = logging.getLogger(__name__)

_STEP: Final = 1_000_000
"""The most offsets of a slice, unless maxOffsetsPerTrigger says less or more."""


def check_read(topics: Sequence[str], existing: Sequence[str]) -> None:
    """Refuse topics that the query does not read.

    Raises:
        KafkaConfigError: One of them is not among the existing ones.
    """
    for each in topics:
        if each not in existing:
            known = {name: name for name in existing}
            raise KafkaConfigError(
                f"backfill has {each!r}, which is not a topic that the query reads"
                f"{did_you_mean(each, known, before=': ')}"
            )


def plan_backfills(
    spark: SparkSession, arguments: Arguments, checkpoint: str, topics: Sequence[str]
) -> None:
    """Keep a backfill beside the checkpoint for each of the topics that has no table.

    It has all offsets before the position of the query, but not what is late: that is written
    anyway. Must run before anything is written.

    Raises:
        KafkaConfigError: The checkpoint cannot be read.
        KafkaError: No broker can be reached.
    """
    for each in topics:
        if arguments.merge_options_of(each).get("tombstones") is False:
            raise KafkaConfigError(
                f"topic {each} has tombstones=False in merge_options, so that its table forgets "
                "what was deleted, and `backfill` would bring it back: leave that argument out, or "
                "make a new query"
            )
    writer = TableWriter(arguments)
    missing = [each for each in topics if not writer.has_table(spark, each)]
    if not missing:
        return
    batch_id, ends = finished(spark, checkpoint)
    if batch_id < 0:
        _log.warning("backfill has no effect at the first start: startingOffsets says what is read")
        return
    late = LateTopics(checkpoint).before(spark, batch_id + 1).topics
    limit = parse_stream_options(arguments.options).limits.max_offsets
    backfills = Backfills(checkpoint)
    for topic, before in by_topic(_before(ends, arguments, missing)).items():
        if ranges := without(before, late[topic].ranges if topic in late else ()):
            backfills.add(spark, Backfill.planned(topic, ranges, limit or _STEP))


def _before(ends: Offsets, arguments: Arguments, topics: Collection[str]) -> list[PlannedRange]:
    """All that the topics have before some offsets; less, if one was created again and is shorter.

    Raises:
        As from `plan_backfills`.
    """
    options = parse_stream_options(arguments.options)
    cluster = Cluster(ClientConfig.from_options(options.kafka))
    try:
        deadline = Deadline.after(cluster.config.api_timeout_ms)
        logs = StreamLogs(cluster, options.strategy, partitions_ttl_ms=options.partitions_ttl_ms)
        latest = logs.latest_offsets(frozenset(), deadline).ends
        read = {tp for tp in ends if tp.topic in topics and tp in latest}
        earliest = logs.earliest_offsets(read, deadline)
        ids = logs.topic_ids(read, deadline)
    finally:
        cluster.close()
    ranges = (
        OffsetRange(tp, at, max(at, min(ends[tp], latest[tp]))) for tp, at in earliest.items()
    )
    return [
        PlannedRange(each, ids.get(each.topic_partition.topic))
        for each in sorted(ranges)
        if not each.is_empty
    ]
