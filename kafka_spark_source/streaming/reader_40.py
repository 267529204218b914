"""The streaming reader for PySpark 4.0 and 4.1, which do not pass where a micro-batch starts.

Spark first plans an empty micro-batch at the offset of the checkpoint, so a query for which
`latestOffset` is called before `partitions` is new. The trigger is unknown: for Trigger.Once and
Trigger.AvailableNow these releases run one micro-batch.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.datasource import InputPartition

from kafka_spark_source.planning.offsets_json import offsets_from_log
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.streaming.stream_reader import KafkaStreamReader
from kafka_spark_source.worker.errors import hide_traceback


class KafkaStreamReader40(KafkaStreamReader):
    """Reads a stream; its arguments are as for KafkaStreamReader."""

    _position: Offsets | None = None  # the end of the last planned micro-batch

    @hide_traceback()
    def latestOffset(self) -> dict[str, dict[str, int]]:  # type: ignore[override]
        """How far the next micro-batch goes.

        Raises:
            KafkaError: As from `MicroBatches.next_end`.
        """
        is_new = self._position is None
        start = self.batches.start() if self._position is None else self._position
        end = self.batches.next_end(start, is_new=is_new, is_limited=True, single_batch_run=True)
        return self.logged(end)

    @hide_traceback()
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Plan the offset ranges of a micro-batch, and keep its end: the next one starts there."""
        planned = super().partitions(start, end)
        self._position = offsets_from_log(end)  # point: start-not-passed
        return planned
