"""The streaming reader for PySpark below 4.2, which must find out where a micro-batch starts.

Where a query goes on, Spark plans an empty micro-batch at that offset before anything else; one
that is asked how far to go before that is new. Which trigger a query has cannot be known: for
Trigger.Once and Trigger.AvailableNow these releases run one micro-batch.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.datasource import InputPartition

from kafka_spark_source.errors import one_sentence
from kafka_spark_source.planning.offsets_json import offsets_from_log
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.streaming.stream_reader import KafkaStreamReader


class PlainStreamReader(KafkaStreamReader):
    """Reads a stream; its arguments are those of KafkaStreamReader."""

    _position: Offsets | None = None  # up to where Spark has planned

    def latestOffset(self) -> dict[str, dict[str, int]]:  # type: ignore[override]
        """How far the next micro-batch goes.

        Raises:
            KafkaError: In one sentence; a DataLossError where failOnDataLoss is true.
        """
        with one_sentence():
            is_new = self._position is None
            start = self.batches.start() if self._position is None else self._position
            end = self.batches.next_end(start, is_new=is_new, is_limited=True, may_be_only_one=True)
            return self.logged(end)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Plan the offset ranges of a micro-batch, and note where the next one starts."""
        planned = super().partitions(start, end)
        self._position = offsets_from_log(end)
        return planned
