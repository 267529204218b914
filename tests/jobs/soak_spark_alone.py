"""The shape of the soak test's work with nothing of this project: what does Spark itself keep?

    python -m tests.jobs.soak_spark_alone numbers folder '{"interval": "72"}'

One stream reads the rate source, the other the smallest Python source; both write to the smallest
Python sink. Batch jobs read and write with the same two. Prints as `tests.jobs.soak` does.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.query import StreamingQuery

from tests.endurance.soak.topics import JOB_ROWS, PARTITIONS
from tests.jobs.soak import TRIGGER, run_until_stop

# In a micro-batch: about what the soak test's writers write in a second.
_ROWS = 100
_NAME = "numbers"


def main(_connector: str, folder: str, options: str) -> None:
    run_until_stop(lambda spark: SparkAlone(spark, Path(folder)), folder, json.loads(options))


class SparkAlone:
    """The work in one session."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        spark.dataSource.register(Numbers)

    def start(self) -> list[StreamingQuery]:
        """Start both streams."""
        rate = self._spark.readStream.format("rate").option("rowsPerSecond", _ROWS).load()
        numbers = self._spark.readStream.format(_NAME).load()
        return [self._copy(rate.select("value"), "rate"), self._copy(numbers, "numbers")]

    def _copy(self, rows: DataFrame, name: str) -> StreamingQuery:
        writer = rows.writeStream.format(_NAME)
        writer = writer.option("checkpointLocation", str(self._folder / name))
        return writer.trigger(processingTime=TRIGGER).start()

    def run_job(self, _job: int) -> None:
        """Read some rows, and write a few."""
        rows = self._spark.read.format(_NAME).load()
        rows.groupBy(F.col("value") % PARTITIONS).agg(F.count("*"), F.max("value")).collect()
        row = self._spark.range(JOB_ROWS).select(F.col("id").alias("value"))
        row.write.format(_NAME).mode("append").save()


class Numbers(DataSource):
    """Reads numbers, and writes to nowhere."""

    @classmethod
    def name(cls) -> str:
        return _NAME

    def schema(self) -> str:
        return "value long"

    def reader(self, schema: Any) -> DataSourceReader:
        return NumbersReader()

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return NumbersStream()

    def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
        return Nowhere()

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:
        return Nowhere()


class Numbered(InputPartition):
    """The numbers of one task; its value is the pair of the first one and the end."""

    def __init__(self, first: int, end: int) -> None:
        super().__init__((first, end))


class NumbersReader(DataSourceReader):
    """Some rows in a few tasks."""

    def partitions(self) -> list[InputPartition]:
        return _tasks(0)

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        return ((number,) for number in range(*partition.value))


class NumbersStream(DataSourceStreamReader):
    """The same number of rows in each micro-batch."""

    def initialOffset(self) -> dict[str, int]:
        return {"end": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        return {"end": start["end"] + _ROWS}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return _tasks(start["end"])

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        return ((number,) for number in range(*partition.value))

    def commit(self, end: dict[str, int]) -> None:
        pass


class Nowhere(DataSourceWriter, DataSourceStreamWriter):
    """Drops the rows."""

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()

    def commit(self, *_: Any) -> None:
        pass

    def abort(self, *_: Any) -> None:
        pass


def _tasks(first: int) -> list[InputPartition]:
    bounds = [first + _ROWS * each // PARTITIONS for each in range(PARTITIONS + 1)]
    return [Numbered(*pair) for pair in itertools.pairwise(bounds)]


if __name__ == "__main__":
    main(*sys.argv[1:])
