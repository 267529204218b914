"""What `recording_source` has, for PySpark 4.2 and later: these pass the start, and a limit."""

from __future__ import annotations

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from tests.simulation.recording_source import RecordingReader, RecordingSource40

_ROWS = 3


class RecordingReader42(RecordingReader, SupportsTriggerAvailableNow):
    """Has three rows in each micro-batch."""

    def getDefaultReadLimit(self) -> ReadLimit:
        self.note("getDefaultReadLimit")
        return ReadMaxRows(_ROWS)

    def prepareForTriggerAvailableNow(self) -> None:
        self.note("prepare")

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        self.note("latestOffset")
        return {"at": min(start["at"] + _ROWS, self.end)}

    def reportLatestOffset(self) -> dict[str, int]:
        self.note("reportLatestOffset")
        return {"at": self.end}


class RecordingSource42(RecordingSource40):
    """Reader and writer that write down what Spark calls."""

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        reader = RecordingReader42(dict(self.options))
        reader.note("streamReader")
        return reader
