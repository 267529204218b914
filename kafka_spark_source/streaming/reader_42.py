"""The streaming reader for PySpark since 4.2, which tells where a micro-batch starts.

It tells which limits count as well: none with Trigger.Once. Must not be imported below 4.2.
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

from kafka_spark_source.errors import one_sentence
from kafka_spark_source.planning.offsets_json import offsets_from_log, offsets_to_log
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.streaming.stream_reader import MARK, KafkaStreamReader

_NO_LIMIT: Final = 2**63 - 1


class LimitedStreamReader(KafkaStreamReader, SupportsTriggerAvailableNow):
    """Reads a stream; its arguments are those of KafkaStreamReader."""

    _start: dict[str, Any] | None = None
    _parsed: Offsets = MappingProxyType({})
    _latest: Offsets | None = None
    _reported: dict[str, dict[str, int]] | None = None

    def getDefaultReadLimit(self) -> ReadLimit:
        """What Spark hands to `latestOffset`, but for Trigger.Once."""
        return ReadMaxRows(self.options.limits.max_offsets or _NO_LIMIT)

    def prepareForTriggerAvailableNow(self) -> None:
        """Read what is there at the first look, and nothing that comes later."""
        self.batches.stop_at_what_is_there()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, dict[str, int]]:
        """How far the next micro-batch goes.

        Raises:
            KafkaError: In one sentence; a DataLossError where failOnDataLoss is true.
        """
        is_once = isinstance(limit, ReadAllAvailable)
        with one_sentence():
            begin, is_new = self._parse(start), start.keys() >= MARK.keys()
            end = self.batches.next_end(
                begin, is_new=is_new, is_limited=not is_once, may_be_only_one=is_once
            )
            return start if end == begin and not is_new else self.logged(end)

    def reportLatestOffset(self) -> dict[str, dict[str, int]] | None:
        """Where the logs ended at the last look, for the query's progress."""
        latest = self.batches.latest
        if latest is not self._latest:
            self._latest, self._reported = latest, offsets_to_log(latest or {}) or None
        return self._reported

    def _parse(self, start: dict[str, Any]) -> Offsets:
        """The offsets of a start, which an idle query hands over again and again."""
        if start != self._start:
            self._start, self._parsed = start, offsets_from_log(start)
        return self._parsed
