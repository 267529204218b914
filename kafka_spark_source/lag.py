"""The lag of streaming queries behind their topics, from the progress that Spark reports.

Never connects to a broker. Works for every source that reports Kafka's offsets, so also for Spark's
own connector.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from pyspark.sql.streaming.listener import StreamingQueryListener

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source import prometheus
from kafka_spark_source.end_times import EndTimes
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

T = TypeVar("T")

# Spark's description of a Python source without latest offsets: it reports the end of the batch
# instead. From PySpark 4.2 on this source is PythonMicroBatchStreamWithAdmissionControl.
_REPORTS_NO_LATEST: Final = ".PythonMicroBatchStream@"


class PartitionLag(NamedTuple):
    """The lag of a query in one partition.

    Attributes:
        topic: The topic.
        partition: The partition's number.
        consumed_offset: The first offset that the query has not read.
        latest_offset: The end of the log when the batch was planned: the high watermark, or the
            last stable offset if the query reads committed records only.
        behind_ms: How long ago the first unread record was written, by the ends of the log in the
            reports so far; 0 if there is none. None without reports.
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


class _Run(NamedTuple):
    """What is known of a run of a query.

    Attributes:
        query: Its name, or its id.
        triggered_ms: When the trigger of the newest report began, in ms since 1970.
        input_rate: Rows that arrive in a second, as Spark reports it.
        processed_rate: Rows that the query processes in a second.
        lags: By topic and partition.
        end_times: Those of the reports before.
    """

    query: str
    triggered_ms: int
    input_rate: float
    processed_rate: float
    lags: tuple[PartitionLag, ...]
    end_times: EndTimes


class LagListener(StreamingQueryListener):
    """Reports the lag of streaming queries, partition by partition.

    Each progress report of a query that reads Kafka logs a line (level INFO), updates `lags`, and
    writes the Prometheus file if there is one. Between two reports the numbers do not change. A
    query that ends is removed. Other sources are ignored.

    The format `pykafka` needs PySpark 4.2 or newer: earlier versions do not ask a Python source for
    its latest offsets. A warning is logged once.

    Args:
        prometheus_file: A file for the textfile collector of node_exporter, such as
            `/somewhere/orders.prom`. Each listener needs its own file.

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
        # By run: a restarted query may report before the end of its previous run is reported.
        self._by_run: dict[UUID, _Run] = {}
        self._has_warned = False
        self._lock = threading.Lock()  # Spark calls from its own threads
        self._file_lock = threading.Lock()

    @property
    def lags(self) -> dict[str, tuple[PartitionLag, ...]]:
        """The newest lag of each running query, by its name, or by its id if it has no name."""
        with self._lock:
            return {run.query: run.lags for run in self._by_run.values()}

    def prometheus_text(self) -> str:
        """`lags` in Prometheus' text format: gauges for each partition, and for each query."""
        with self._lock:
            runs = {run.query: run for run in self._by_run.values()}
        queries = [({"query": query}, run) for query, run in runs.items()]
        partitions = [
            ({**labels, "topic": lag.topic, "partition": str(lag.partition)}, lag)
            for labels, run in queries
            for lag in run.lags
        ]
        return prometheus.render(
            [*_gauges(PARTITION_GAUGES, partitions), *_gauges(QUERY_GAUGES, queries)]
        )

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing: there are no numbers yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Update the lag after a batch, or after a trigger without new data."""
        progress = event.progress
        query = progress.name or str(progress.id)
        found = worst_of(lag for each in progress.sources for lag in self._lag_of(query, each))
        with self._lock:
            run = self._by_run.pop(progress.runId, None)
            end_times = EndTimes() if run is None else run.end_times
            triggered_ms = _ms_of(progress.timestamp)
            lags = _with_times(found, end_times, triggered_ms)
            if lags:
                self._by_run[progress.runId] = _Run(
                    query,
                    triggered_ms,
                    progress.inputRowsPerSecond,
                    progress.processedRowsPerSecond,
                    lags,
                    end_times,
                )
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
        """Remove the query."""
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
                "kafka.group.id to see the lag of that group in Kafka's own tools.",
                query,
            )

    def _write_file(self) -> None:
        if self._file:
            try:
                with self._file_lock:
                    prometheus.write_file(self.prometheus_text(), self._file)
            except OSError as error:
                _log.warning("Cannot write the lag for Prometheus: %s", error)


def _with_times(
    lags: tuple[PartitionLag, ...], end_times: EndTimes, now_ms: int
) -> tuple[PartitionLag, ...]:
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


def _ms_of(timestamp: str) -> int:
    # Python 3.10 does not read Z.
    return int(datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class _GaugeOf(Generic[T]):
    """A gauge: its name, its description, and its value for a partition or a query."""

    name: str
    description: str
    value: Callable[[T], float]


PARTITION_GAUGES: Final[tuple[_GaugeOf[PartitionLag], ...]] = (
    _GaugeOf(
        "pykafka_lag_records",
        "Records that the query has not read yet.",
        lambda lag: lag.records,
    ),
    _GaugeOf(
        "pykafka_lag_seconds",
        "How long ago the first unread record was written.",
        lambda lag: (lag.behind_ms or 0) / 1000,
    ),
    _GaugeOf(
        "pykafka_consumed_offset",
        "First offset that the query has not read.",
        lambda lag: lag.consumed_offset,
    ),
    _GaugeOf(
        "pykafka_latest_offset",
        "End of the log when the batch was planned.",
        lambda lag: lag.latest_offset,
    ),
)
QUERY_GAUGES: Final[tuple[_GaugeOf[_Run], ...]] = (
    _GaugeOf(
        "pykafka_input_rows_per_second", "Rows that arrive in a second.", lambda run: run.input_rate
    ),
    _GaugeOf(
        "pykafka_processed_rows_per_second",
        "Rows processed in a second.",
        lambda run: run.processed_rate,
    ),
    _GaugeOf(
        "pykafka_last_trigger_seconds",
        "When the last trigger began.",
        lambda run: run.triggered_ms / 1000,
    ),
)


def _gauges(
    kinds: Iterable[_GaugeOf[T]], labelled: Sequence[tuple[Mapping[str, str], T]]
) -> list[prometheus.Gauge]:
    return [
        prometheus.Gauge(
            each.name, each.description, [(labels, each.value(of)) for labels, of in labelled]
        )
        for each in kinds
    ]
