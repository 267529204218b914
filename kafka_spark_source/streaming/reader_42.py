"""The streaming reader for PySpark 4.2 and later, which pass where a micro-batch starts.

They also pass the limit that applies: none with Trigger.Once. Must not be imported below 4.2.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from kafka_spark_source.planning.offsets_json import offsets_from_log, offsets_to_log
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.streaming.stream_reader import NOT_LOGGED_MARK, KafkaStreamReader
from kafka_spark_source.worker.errors import hide_traceback

_NO_LIMIT: Final = 2**63 - 1


class KafkaStreamReader42(KafkaStreamReader, SupportsTriggerAvailableNow):
    """Reads a stream; its arguments are as for KafkaStreamReader."""

    _start: dict[str, Any] | None = None
    _parsed: Offsets = MappingProxyType({})
    _reported_version: int | None = None
    _reported: dict[str, dict[str, int]] | None = None

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limit that Spark passes to `latestOffset`, except with Trigger.Once."""
        return ReadMaxRows(self.options.limits.max_offsets or _NO_LIMIT)  # point: trigger-once

    def prepareForTriggerAvailableNow(self) -> None:
        """End the run at the ends that the logs have at its first micro-batch."""
        self.batches.stop_at_available_now()

    @hide_traceback()
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, dict[str, int]]:
        """How far the next micro-batch goes.

        Raises:
            KafkaError: As from `MicroBatches.next_end`.
        """
        is_once = isinstance(limit, ReadAllAvailable)
        begin, is_new = self._parse(start), start.keys() >= NOT_LOGGED_MARK.keys()
        end = self.batches.next_end(
            begin, is_new=is_new, is_limited=not is_once, single_batch_run=is_once
        )
        return start if end == begin and not is_new else self.logged(end)  # point: same-text

    def reportLatestOffset(self) -> dict[str, dict[str, int]] | None:
        """The ends of the logs at the last `latestOffset`, for the query's progress."""
        logs = self.batches.latest
        if logs is not None and logs.version != self._reported_version:
            self._reported_version, self._reported = logs.version, offsets_to_log(logs.ends) or None
        return self._reported

    def _parse(self, start: dict[str, Any]) -> Offsets:
        """The offsets of a start. An idle query passes the same one again and again."""
        if start != self._start:
            self._start, self._parsed = start, offsets_from_log(start)
        return self._parsed
