"""The function for `foreachBatch`: each topic of a micro-batch to its table, some at a time.

A topic that fails either fails the micro-batch, after all others were written, or is late: its
ranges wait beside the checkpoint. `sink` says how a table knows what it has, `late` when its state
is written.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession

from kafka_protocol.client.clock import monotonic_ms, now_ms
from kafka_protocol.errors import KafkaError
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables.arguments import Arguments, OnError
from kafka_spark_source.tables.checkpoint import PlannedBefore, planned_before, query_id
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.late import LateState, LateTopic, LateTopics
from kafka_spark_source.tables.progress import Progress
from kafka_spark_source.tables.ranges import by_topic, count, from_row, joined
from kafka_spark_source.tables.reasons import reason_of
from kafka_spark_source.tables.run import Run
from kafka_spark_source.tables.session import secured
from kafka_spark_source.tables.writer import TableWriter, Work

_log = logging.getLogger(__name__)

_FIRST_RETRY_MS: Final = 60_000.0
_LAST_RETRY_MS: Final = 3_600_000.0
_SHOWN_REASONS: Final = 5

Ranges = Sequence[PlannedRange]


class _Retry(NamedTuple):
    """When a topic that failed is tried again, after which wait, and why it failed."""

    at_ms: float
    wait_ms: float
    reason: str


class TablesOfMicroBatch:
    """What a micro-batch does. One query's run has one."""

    def __init__(self, arguments: Arguments, checkpoint: str, progress: Progress, run: Run) -> None:
        self._arguments = arguments
        self._checkpoint = checkpoint.rstrip("/")
        self._writer = TableWriter(arguments)
        self._late_topics = LateTopics(checkpoint)
        self._state: LateState | None = None
        self._retries: dict[str, _Retry] = {}
        self._query_id = ""
        self._planned = PlannedBefore()
        self._progress = progress
        self._run = run

    def __call__(self, ranges: DataFrame, batch_id: int) -> None:
        """Write the records of the ranges of a micro-batch.

        Raises:
            TableError: Tables cannot be written, with `on_error="fail"`.
            KafkaConfigError: The state of late tables cannot be read.
        """
        spark = ranges.sparkSession
        self._query_id = self._query_id or query_id(spark, self._checkpoint)
        new = by_topic(map(from_row, ranges.collect()))
        try:
            with self._run.writing():
                self._write_all(spark, new, self._state_before(spark, batch_id), batch_id)
        except KafkaError as error:
            self._progress.failure = error
            raise

    def catch_up(self, spark: SparkSession) -> None:
        """Before a run: try again the topics that were late when the last one ended.

        The session gets settings: give it a copy of its own.

        Raises:
            As from the call.
        """
        self._planned = planned_before(spark, self._checkpoint)
        newest = self._state = self._late_topics.newest(spark)
        if newest.topics:
            self._query_id = query_id(spark, self._checkpoint)
            self._write_all(spark, {}, newest, newest.batch_id)

    def _state_before(self, spark: SparkSession, batch_id: int) -> LateState:
        if self._state is None or self._state.batch_id >= batch_id:
            self._state = self._late_topics.before(spark, batch_id)
        return self._state

    def _write_all(
        self, spark: SparkSession, new: Mapping[str, Ranges], before: LateState, batch_id: int
    ) -> None:
        secured(spark)  # each stream has a session of its own
        ranges = {topic: [*late.ranges] for topic, late in before.topics.items()}
        for topic, added in new.items():
            ranges[topic] = joined([*ranges.get(topic, ()), *added])
        due = [topic for topic in ranges if self._is_due(topic)]
        reasons = {each: self._retries[each].reason for each in ranges if each not in due}
        began_ms = float(now_ms())
        work = {
            topic: self._work(ranges[topic], batch_id, before.topics.get(topic)) for topic in due
        }
        reasons |= self._write(spark, work)
        self._raise_if_asked(reasons, batch_id)
        late = {
            topic: _late(before.topics.get(topic), ranges[topic], reason, (batch_id, began_ms))
            for topic, reason in reasons.items()
        }
        if late != before.topics:
            self._state = self._late_topics.save(spark, batch_id, late)
        for topic, each in late.items():
            self._progress.suspended(topic, batch_id, count(each.ranges), each.reason)

    def _work(self, ranges: Ranges, batch_id: int, late: LateTopic | None) -> Work:
        planned_ms = self._planned.at_ms if batch_id <= self._planned.batch_id else None
        times = [planned_ms, late.at_ms if late else None]
        return Work(
            *(ranges, self._query_id, batch_id),
            since_ms=min((each for each in times if each is not None), default=None),
            late_since=late.since if late else None,
            planned_before=self._planned.batch_id,
        )

    def _write(self, spark: SparkSession, work: Mapping[str, Work]) -> dict[str, str]:
        """Write topics, some at a time; returns why some could not be written."""

        def write(topic: str) -> tuple[str, str | None]:
            return topic, self._write_one(spark, topic, work[topic])

        # The largest first: it would take longest alone at the end.
        topics = sorted(work, key=lambda topic: (-count(work[topic].ranges), topic))
        with ThreadPoolExecutor(self._arguments.threads) as pool:
            outcomes = [*pool.map(inheritable_thread_target(spark)(write), topics)]
        return {topic: reason for topic, reason in outcomes if reason is not None}

    def _write_one(self, spark: SparkSession, topic: str, work: Work) -> str | None:
        began = monotonic_ms()
        try:
            with self._run.topic(topic):
                self._writer.write(spark, topic, work)
        except Exception as error:  # noqa: BLE001 - each table fails for itself
            reason = reason_of(error)
            self._postpone(topic, reason)
            _log.warning("Topic %s is not written to its table: %s", topic, reason)
            return reason
        self._retries.pop(topic, None)
        seconds = (monotonic_ms() - began) / 1000
        tables = self._writer.tables_of(topic)
        self._progress.written(topic, work.batch_id, count(work.ranges), seconds, tables)
        return None

    def _is_due(self, topic: str) -> bool:
        return topic not in self._retries or monotonic_ms() >= self._retries[topic].at_ms

    def _postpone(self, topic: str, reason: str) -> None:
        """Try the topic again after a while, which doubles."""
        last = self._retries.get(topic)
        wait_ms = _FIRST_RETRY_MS if last is None else min(last.wait_ms * 2, _LAST_RETRY_MS)
        self._retries[topic] = _Retry(monotonic_ms() + wait_ms, wait_ms, reason)

    def _raise_if_asked(self, reasons: Mapping[str, str], batch_id: int) -> None:
        if not reasons or self._arguments.on_error is not OnError.FAIL:
            return
        shown = [f"{topic}: {reason}" for topic, reason in sorted(reasons.items())]
        more = len(shown) - _SHOWN_REASONS
        raise TableError(
            f"micro-batch {batch_id} could not be written to {len(shown)} of its tables; all other "
            'tables have it. With on_error="suspend" the query goes on without them. '
            + "; ".join(shown[:_SHOWN_REASONS])
            + (f"; and {more} more" if more > 0 else "")
        )


def _late(
    before: LateTopic | None, ranges: Ranges, reason: str, now: tuple[int, float]
) -> LateTopic:
    """What is late after a micro-batch; `now` is its number, and when it began."""
    since, at_ms = (before.since, before.at_ms) if before else now
    return LateTopic(tuple(ranges), since, reason, at_ms)
