"""A data source that writes down each call of Spark, for the comparison with the simulated engine.

Its rows are numbers. Each call appends a line to a file: calls come from several processes, one
after the other. Here is what PySpark 4.0 calls; `recording_source_42` has the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType


class Recorder:
    """Appends names of calls to the file in the option `calls`."""

    def __init__(self, options: dict[str, str]) -> None:
        self._file = Path(options["calls"])
        self.end = int(options.get("end", "0"))

    def note(self, name: str) -> None:
        with self._file.open("a") as file:
            file.write(f"{name}\n")


class RecordingReader(Recorder, DataSourceStreamReader):
    """Has rows up to the option `end`. Which of them come next is for the subclasses."""

    def initialOffset(self) -> dict[str, int]:
        self.note("initialOffset")
        return {"at": 0}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        self.note("partitions")
        return [InputPartition((start["at"], end["at"]))]

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        for number in range(*partition.value):
            yield (number,)

    def commit(self, end: dict[str, int]) -> None:
        self.note("commit offsets")

    def stop(self) -> None:
        self.note("stop")


class RecordingReader40(RecordingReader):
    """Has all rows in one micro-batch."""

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]  # as in 4.0
        self.note("latestOffset")
        return {"at": self.end}


class RecordingWriter(Recorder, DataSourceStreamWriter):
    """Takes rows, and fails in tasks if the option `fails` is set."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._fails = options.get("fails") == "true"

    def write(self, iterator: Iterator[object]) -> WriterCommitMessage:
        for _ in iterator:
            if self._fails:
                raise ValueError("this task fails")
        return WriterCommitMessage()

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self.note("commit")

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self.note("abort")


class RecordingSource40(DataSource):
    """Reader and writer that write down what Spark calls."""

    @classmethod
    def name(cls) -> str:
        return "recording"

    def schema(self) -> str:
        return "number int"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        reader = RecordingReader40(dict(self.options))
        reader.note("streamReader")
        return reader

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        writer = RecordingWriter(dict(self.options))
        writer.note("streamWriter")
        return writer
