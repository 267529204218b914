"""The order in which real Spark calls readers and writers, and in which the simulated engine does."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.simulation.recording_source import RecordingSource


def recorded(spark: SparkSession, folder: Path, end: int, **options: str) -> list[str]:
    """The calls of one run up to a number of rows; runs with the same folder are one query."""
    calls = folder / f"calls-{end}-{len(options)}"
    given = {"calls": str(calls), "end": str(end), **options}
    rows = spark.readStream.format("recording").options(**given).load()
    query = (
        rows.writeStream.format("recording")
        .options(**given, checkpointLocation=str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return calls.read_text().split("\n")[:-1]


@pytest.mark.spark
@pytest.mark.newest
def test_the_order_of_calls(spark: SparkSession, tmp_path: Path) -> None:
    spark.dataSource.register(RecordingSource)
    print(recorded(spark, tmp_path, 8))
    print(recorded(spark, tmp_path, 12))
    try:
        recorded(spark, tmp_path, 15, fails="true")
    except StreamingQueryException:
        pass
    print((tmp_path / "calls-15-1").read_text().split())
    print(recorded(spark, tmp_path, 15))
    raise AssertionError
