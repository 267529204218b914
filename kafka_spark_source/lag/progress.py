"""The lag in Spark's progress reports: offsets read and latest offsets, as their texts give them.

Never connects to a broker, and uses no class of Spark's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.lag.estimated import EndTimes
from kafka_spark_source.planning.offsets_json import offsets_from_log


class PartitionLag(NamedTuple):
    """The lag of a query in one partition.

    Attributes:
        topic: The topic.
        partition: The partition's number.
        consumed_offset: The first offset that the query has not read.
        latest_offset: The end of the log when the batch was planned: the high watermark, or the
            last stable offset if the query reads committed records only.
        behind_ms: The age of the first unread record in ms, estimated from the ends of the log in
            the reports so far; 0 if all records are read. None without reports.
    """

    topic: str
    partition: int
    consumed_offset: int
    latest_offset: int
    behind_ms: int | None = None

    @property
    def records(self) -> int:
        """The number of offsets between the two, an upper limit of the records to read."""
        return max(0, self.latest_offset - self.consumed_offset)


class QueryRun(NamedTuple):
    """The newest progress report of a run of a query.

    Attributes:
        query: Its name, or its id.
        triggered_ms: When the trigger of the newest report began, in ms since 1970.
        input_rate: Rows that arrive in a second, as Spark reports it.
        processed_rate: Rows that the query processes in a second.
        lags: By topic and partition.
        end_times: The ends of the logs in the reports so far.
    """

    query: str
    triggered_ms: int
    input_rate: float
    processed_rate: float
    lags: tuple[PartitionLag, ...]
    end_times: EndTimes


def lag_between(
    consumed: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]
) -> list[PartitionLag]:
    """The lag of each partition with a latest offset.

    A partition without a consumed offset counts from 0, as in the metrics of Spark's own connector.
    A partition without a latest offset was deleted and has no lag.
    """
    return [
        PartitionLag(*topic_partition, consumed.get(topic_partition, 0), offset)
        for topic_partition, offset in sorted(latest.items())
    ]


def parse_offsets(text: str) -> dict[TopicPartition, int] | None:
    """Kafka's offsets from the text in a progress report.

    None for the offsets of other sources, and for `None` or `null`.
    """
    try:
        return offsets_from_log(json.loads(text))
    except (KafkaConfigError, ValueError, RecursionError):
        return None


def worst_of(lags: Iterable[PartitionLag]) -> tuple[PartitionLag, ...]:
    """The largest lag of each partition, sorted by topic and partition.

    A query may read a topic several times (a self-join), each time with other offsets.
    """
    worst: dict[TopicPartition, PartitionLag] = {}
    for lag in sorted(lags, key=lambda lag: lag.records):
        worst[TopicPartition(lag.topic, lag.partition)] = lag
    return tuple(lag for _, lag in sorted(worst.items()))


def with_times(
    lags: tuple[PartitionLag, ...], end_times: EndTimes, now_ms: int
) -> tuple[PartitionLag, ...]:
    """The lags with `behind_ms`, from the ends of the logs in the reports up to this one.

    Args:
        lags: The lags in the newest report. `end_times` forgets all other partitions.
        end_times: The ends in earlier reports; the ends in this one are added.
        now_ms: When the trigger of the newest report began.
    """
    end_times.keep_only({TopicPartition(lag.topic, lag.partition) for lag in lags})
    return tuple(
        lag._replace(
            behind_ms=end_times.behind_ms(
                TopicPartition(lag.topic, lag.partition),
                lag.consumed_offset,
                lag.latest_offset,
                now_ms,
            )
        )
        for lag in lags
    )
