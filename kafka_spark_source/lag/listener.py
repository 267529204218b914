"""`LagListener`: Spark's progress reports -> lags, log lines and gauges.

Works for every source that reports Kafka's offsets, also for Spark's own connector.
"""

from __future__ import annotations

import logging
import os
import threading
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql.streaming.listener import StreamingQueryListener

from kafka_spark_source.lag import gauges, prometheus
from kafka_spark_source.lag.estimated import EndTimes
from kafka_spark_source.lag.progress import (
    PartitionLag,
    QueryRun,
    lag_between,
    parse_offsets,
    with_times,
    worst_of,
)

if TYPE_CHECKING:
    from uuid import UUID

    from pyspark.sql.streaming.listener import (
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        SourceProgress,
    )

# Users set the level of this name.
_log = logging.getLogger("kafka_spark_source.lag")

# Spark's description of a Python source without latest offsets: it reports the end of the batch
# instead. From PySpark 4.2 on this source is PythonMicroBatchStreamWithAdmissionControl.
_REPORTS_NO_LATEST: Final = ".PythonMicroBatchStream@"


class LagListener(StreamingQueryListener):
    """Reports the lag of streaming queries, partition by partition.

    Each progress report of a query that reads Kafka logs a line (level INFO), updates `lags`, and
    writes the Prometheus file if there is one. Between two reports the numbers do not change. A
    query that ends is removed. Other sources are ignored.

    With the format `pykafka` it needs PySpark 4.2 or newer: earlier versions do not ask a Python
    source for its latest offsets. A warning says so once.

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
        self._by_run: dict[UUID, QueryRun] = {}
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
        return prometheus.render(gauges.reported(runs.values()))

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing: there are no numbers yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Update the lag after a batch, or after a trigger without new data."""
        progress = event.progress
        query = progress.name or str(progress.id)
        worst_lags = worst_of(lag for each in progress.sources for lag in self._lag_of(query, each))
        with self._lock:
            run = self._by_run.pop(progress.runId, None)
            end_times = EndTimes() if run is None else run.end_times
            triggered_ms = _ms_of(progress.timestamp)
            lags = with_times(worst_lags, end_times, triggered_ms)
            if lags:
                self._by_run[progress.runId] = QueryRun(
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


def _ms_of(timestamp: str) -> int:
    # Python 3.10 does not read Z.
    return int(datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp() * 1000)
