"""Fills tables anew beside the stream, slice by slice, while micro-batches write the others.

A slice is a commit. A topic's lock makes slices and micro-batches take turns, so a micro-batch
waits for one slice at most. A table of `append` says which slice was its last one; with `upsert`
and `changes` a restart begins with the first one again, which changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

from kafka_protocol.client.clock import Deadline
from kafka_spark_source.tables.arguments import Arguments, OnError
from kafka_spark_source.tables.backfill import Backfill, Backfills
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.progress import Progress
from kafka_spark_source.tables.ranges import count
from kafka_spark_source.tables.reasons import reason_of
from kafka_spark_source.tables.run import Run
from kafka_spark_source.tables.writer import TableWriter, Work

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_log = logging.getLogger(__name__)

_FIRST_RETRY_MS: Final = 60_000.0
_LAST_RETRY_MS: Final = 3_600_000.0
_LOOK_SECONDS: Final = 1.0
"""How often it looks whether the query has ended, while it waits."""


class Backfiller:
    """The backfills of one run of a query."""

    def __init__(
        self,
        spark: SparkSession,
        arguments: Arguments,
        backfills: Backfills,
        run: Run,
        progress: Progress,
    ) -> None:
        self._spark = spark
        self._backfills = backfills
        self._run = run
        self._progress = progress
        self._writer = TableWriter(arguments)
        self._fails = arguments.on_error is OnError.FAIL
        self._stopped = Event()
        self._thread: Thread | None = None

    def start(self, query: StreamingQuery, *, to_the_end: bool) -> None:
        """Begin, in a thread that ends with the query.

        Args:
            query: The query.
            to_the_end: Whether the run ends when all is written: then the query may end before, and
                nothing is tried again.

        Raises:
            KafkaConfigError: The file of a backfill cannot be read.
        """
        left = self._backfills.all(self._spark)
        for each in left:
            self._progress.filling(each.topic, count(each.ranges))
        if left:
            run = inheritable_thread_target(self._spark)(self._fill_all)
            arguments = left, query, to_the_end
            self._thread = Thread(target=run, args=arguments, name="pykafka-backfill", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End after the slice that is being written."""
        self._stopped.set()

    def join(self, seconds: float | None) -> bool:
        """Wait until it has ended; returns whether it has."""
        if self._thread is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def fill(self, backfill: Backfill) -> Iterator[None]:
        """Write the slices that the table lacks, one at each step.

        Raises:
            KafkaError, PySparkException: As from `TableWriter.write`.
        """
        left = count(backfill.ranges)
        self._progress.filling(backfill.topic, left)
        for number, ranges in enumerate(backfill.slices()):
            work = Work(ranges, backfill.id, number, since_ms=backfill.at_ms, is_backfill=True)
            with self._run.writing(), self._run.topic(backfill.topic):
                self._writer.write(self._spark, backfill.topic, work)
            left -= count(ranges)
            tables = self._writer.tables_of(backfill.topic)
            self._progress.filling(backfill.topic, left, tables=tables)
            yield
        self._backfills.remove(self._spark, backfill)

    def _fill_all(self, left: list[Backfill], query: StreamingQuery, to_the_end: bool) -> None:
        def is_wanted() -> bool:
            return not self._stopped.is_set() and (to_the_end or query.isActive)

        wait_ms = _FIRST_RETRY_MS
        while is_wanted():
            left = [each for each in left if not self._is_filled(each, is_wanted)]
            if self._progress.failure is not None:
                query.stop()
                return
            if not left or to_the_end:
                return
            again = Deadline.after(wait_ms)
            while is_wanted() and not again.has_passed:
                self._stopped.wait(_LOOK_SECONDS)
            wait_ms = min(2 * wait_ms, _LAST_RETRY_MS)

    def _is_filled(self, backfill: Backfill, is_wanted: Callable[[], bool]) -> bool:
        try:
            for _ in self.fill(backfill):
                if not is_wanted():
                    return False
        except Exception as error:  # noqa: BLE001 - each table fails for itself
            reason = reason_of(error)
            self._progress.not_filled(backfill.topic, reason)
            _log.warning("The table of topic %s is not filled: %s", backfill.topic, reason)
            if self._fails:
                self._progress.failure = TableError(
                    f"the table of topic {backfill.topic} could not be filled anew: {reason}"
                )
            return False
        return True
