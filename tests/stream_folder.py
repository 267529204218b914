"""A query's checkpoint and output files: start the query, read them, rewind them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_spark_source.testing.processes.waiting import Deadline
from tests.stream_records import Offsets, Record

Log = Literal["offsets", "sink", "commits"]
LOGS: Final[tuple[Log, ...]] = ("offsets", "sink", "commits")
"""The logs to which each batch writes a file, in this order; the file name is its number."""

RESTARTED: Final = {"spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false"}
"""The setting of a session whose driver may be killed (`docs/upstream/spark-first-entry.md`)."""

_SOON_SECONDS = 120
_SCHEMA = "topic string, partition int, offset long, value string"


class StreamFolder:
    """The existing folder of a query that copies Kafka to files, with all its state."""

    def __init__(self, folder: Path) -> None:
        self._checkpoint = folder / "checkpoint"
        self._files = folder / "files"
        self._logs = {
            "offsets": self._checkpoint / "offsets",
            "sink": self._files / "_spark_metadata",
            "commits": self._checkpoint / "commits",
        }

    def start(self, df: DataFrame, trigger: str = "0 seconds") -> StreamingQuery:
        """Starts or restarts the query; `df` has the columns of the source."""
        rows = df.selectExpr("topic", "partition", "offset", "string(value) AS value")
        return (
            rows.writeStream.format("json")
            .option("path", str(self._files))
            .option("checkpointLocation", str(self._checkpoint))
            .trigger(processingTime=trigger)
            .start()
        )

    def run_to(self, df: DataFrame, ends: Offsets) -> None:
        """Runs the query until a finished batch reaches these offsets.

        Raises:
            StreamingQueryException: The query failed.
        """
        query = self.start(df)
        try:
            has_ended = Deadline(_SOON_SECONDS).wait_for(
                lambda: not query.isActive or self._is_at(ends)
            )
        finally:
            query.stop()
        if error := query.exception():
            raise error
        assert has_ended, f"no batch goes to {ends}; {self.batches()} are logged"

    def records(self, spark: SparkSession) -> list[Record]:
        """The records in the files that the sink's own log lists."""
        rows = spark.read.schema(_SCHEMA).json(str(self._files)).collect()
        return [Record(*row) for row in rows]

    def batches(self, log: Log = "offsets") -> list[int]:
        """The numbers of the batches in a log."""
        return sorted(batch for file, batch in self._entries(log) if file.name[0] != ".")

    def offsets_text(self, batch: int) -> str:
        """The end offset of a batch, as text of the log; the query has one source."""
        return (self._logs["offsets"] / f"{batch}").read_text().splitlines()[2]

    def offsets(self, batch: int) -> Offsets:
        """The end offset of a batch, parsed."""
        topics = json.loads(self.offsets_text(batch))
        return {
            topic: {int(partition): offset for partition, offset in partitions.items()}
            for topic, partitions in topics.items()
        }

    def rewind(self, batch: int, last: Log) -> None:
        """Restores the state of a driver that died right after writing this log of this batch."""
        kept = batch, LOGS.index(last)
        for order, log in enumerate(LOGS):
            for file, of_batch in self._entries(log):
                if (of_batch, order) > kept:
                    file.unlink()

    def begin_first_entry(self) -> None:
        """Leaves what a driver leaves that dies while it writes the first entry."""
        self._logs["offsets"].mkdir(parents=True)
        (self._logs["offsets"] / f".0.{uuid4()}.tmp").touch()

    def _is_at(self, ends: Offsets) -> bool:
        finished = self.batches("commits")
        offsets = self.offsets(finished[-1]) if finished else {}
        return all(
            offsets.get(topic, {}).items() >= of_topic.items() for topic, of_topic in ends.items()
        )

    def _entries(self, log: Log) -> Iterator[tuple[Path, int]]:
        """The files of a log and their batches: `7`, `9.compact`, hidden `.7.crc`."""
        folder = self._logs[log]
        for file in list(folder.iterdir()) if folder.exists() else []:
            yield file, int(file.name.lstrip(".").partition(".")[0])
