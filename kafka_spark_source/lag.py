"""How far streaming queries are behind their topics, from the progress that Spark reports.

Nothing here asks a broker. Whatever reports Kafka's offsets is understood, so Spark's own
connector is too.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql.streaming.listener import StreamingQueryListener

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source import prometheus
from kafka_spark_source.planning.offsets_json import offsets_from_log

if TYPE_CHECKING:
    from uuid import UUID

    from pyspark.sql.streaming.listener import (
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        SourceProgress,
    )

_log = logging.getLogger(__name__)

# How Spark describes a Python source that cannot say what is the latest: it reports the end of the
# batch instead. From PySpark 4.2 on ours is PythonMicroBatchStreamWithAdmissionControl.
_REPORTS_NO_LATEST: Final = ".PythonMicroBatchStream@"


class PartitionLag(NamedTuple):
    """How far a query is behind in one partition.

    Attributes:
        topic: The topic.
        partition: The partition's number.
        consumed_offset: The first offset that the query has not read yet.
        latest_offset: The end of the log when the batch was planned: the offset that the next
            record gets, or the last stable offset where only committed records are read.
    """

    topic: str
    partition: int
    consumed_offset: int
    latest_offset: int

    @property
    def records(self) -> int:
        """The offsets between the two: at least as many as there are records to read."""
        return max(0, self.latest_offset - self.consumed_offset)


def lag_between(
    consumed: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]
) -> list[PartitionLag]:
    """Say how far one set of offsets is behind another, by partition.

    A partition that nothing was consumed of yet counts from offset 0, as it does in the metrics of
    Spark's own connector. One without a latest offset is gone, and so is its lag.
    """
    return [
        PartitionLag(*topic_partition, consumed.get(topic_partition, 0), offset)
        for topic_partition, offset in sorted(latest.items())
    ]


def parse_offsets(text: str) -> dict[TopicPartition, int] | None:
    """Read offsets as a progress spells them, or say with None that they are not Kafka's.

    The offsets of other sources are not, nor is `None` or `null`, which stand for none.
    """
    try:
        return offsets_from_log(json.loads(text))
    except (KafkaConfigError, ValueError, RecursionError):
        return None


def worst_of(lags: Iterable[PartitionLag]) -> tuple[PartitionLag, ...]:
    """Keep of each partition the one lag that is the largest, sorted by topic and partition.

    A query can read a topic more than once, as a self-join does, each time with its own offsets.
    """
    worst: dict[TopicPartition, PartitionLag] = {}
    for lag in sorted(lags, key=lambda lag: lag.records):
        worst[TopicPartition(lag.topic, lag.partition)] = lag
    return tuple(lag for _, lag in sorted(worst.items()))


class LagListener(StreamingQueryListener):
    """Tells how far streaming queries are behind, partition by partition.

    Each progress of a query that reads Kafka makes a line in the log (level INFO), replaces its
    numbers in `lags`, and writes the file for Prometheus where one is asked for. A query that ends
    is forgotten. Other sources are passed over. Between two progresses the numbers stand still.

    It needs PySpark 4.2 or newer for the format `pykafka`; before, Spark does not ask a Python
    source for its latest offsets, and one warning says so.

    Args:
        prometheus_file: A file to keep up to date for the textfile collector of node_exporter,
            `/somewhere/orders.prom`. One for each listener.

    Example:
        >>> listener = LagListener()
        >>> spark.streams.addListener(listener)  # doctest: +SKIP
        >>> listener.lags  # doctest: +SKIP
        {'orders': (PartitionLag(topic='orders', partition=0, consumed_offset=40, ...),)}

        Over HTTP, with `PrometheusServer` of `kafka_spark_source.prometheus`:

        >>> with PrometheusServer(listener.prometheus_text, port=9400):  # doctest: +SKIP
        ...     query.awaitTermination()
    """

    def __init__(self, prometheus_file: str | os.PathLike[str] | None = None) -> None:
        self._file = Path(prometheus_file) if prometheus_file else None
        # By run, because a query that is started again can report before its last run has ended.
        self._by_run: dict[UUID, tuple[str, tuple[PartitionLag, ...]]] = {}
        self._has_warned = False
        self._lock = threading.Lock()  # Spark calls from threads of its own
        self._file_lock = threading.Lock()

    @property
    def lags(self) -> dict[str, tuple[PartitionLag, ...]]:
        """The newest lag of each running query, by its name, or its id where it has none."""
        with self._lock:
            return dict(self._by_run.values())

    def prometheus_text(self) -> str:
        """`lags` in Prometheus' text format, as three gauges for each partition."""
        labelled = [
            ({"query": query, "topic": lag.topic, "partition": str(lag.partition)}, lag)
            for query, lags in self.lags.items()
            for lag in lags
        ]
        return prometheus.render(
            prometheus.Gauge(name, what, [(labels, getattr(lag, of)) for labels, lag in labelled])
            for name, what, of in _GAUGES
        )

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing is known yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Take the numbers of a batch, or of a trigger that found nothing to do."""
        progress = event.progress
        query = progress.name or str(progress.id)
        lags = worst_of(lag for each in progress.sources for lag in self._lag_of(query, each))
        with self._lock:
            if lags:
                self._by_run[progress.runId] = query, lags
            else:
                self._by_run.pop(progress.runId, None)
        if lags:
            worst = max(lags, key=lambda lag: lag.records)
            _log.info(
                "Query %s, batch %d: %d records behind in %d partitions, %d of them in %s-%d",
                query,
                progress.batchId,
                sum(lag.records for lag in lags),
                len(lags),
                worst.records,
                worst.topic,
                worst.partition,
            )
        self._write_file()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Forget the query."""
        with self._lock:
            self._by_run.pop(event.runId, None)
        self._write_file()

    def _lag_of(self, query: str, source: SourceProgress) -> list[PartitionLag]:
        consumed, latest = parse_offsets(source.endOffset), parse_offsets(source.latestOffset)
        if consumed is None or latest is None:
            return []
        if _REPORTS_NO_LATEST in source.description:
            self._warn_once(query)
            return []
        return lag_between(consumed, latest)

    def _warn_once(self, query: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning(
                "The lag of query %s is not known: before PySpark 4.2 Spark does not ask a Python "
                "source for the latest offsets. Set the options commitOffsetsToGroup and "
                "kafka.group.id, and Kafka's own tools show the lag of that group.",
                query,
            )

    def _write_file(self) -> None:
        if self._file:
            try:
                with self._file_lock:
                    prometheus.write_file(self.prometheus_text(), self._file)
            except OSError as error:
                _log.warning("The lag cannot be written for Prometheus: %s", error)


_GAUGES: Final = (
    ("pykafka_lag_records", "Records that the query has not read yet.", "records"),
    ("pykafka_consumed_offset", "First offset that the query has not read.", "consumed_offset"),
    ("pykafka_latest_offset", "End of the log when the batch was planned.", "latest_offset"),
)
