"""The order in which real Spark calls readers and writers, and how it is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession


class CallOrder(NamedTuple):
    """The calls of one driver after another, with Trigger.AvailableNow.

    Attributes:
        new: All micro-batches of a new query.
        failed: Of the next driver: a micro-batch whose tasks fail.
        again: Of the next driver: the same micro-batch.
    """

    new: tuple[str, ...]
    failed: tuple[str, ...]
    again: tuple[str, ...]


_WRITE: Final = ("streamWriter", "streamWriter")
_READ_AND_WRITE: Final = ("partitions", "streamReader", *_WRITE)
_BEGIN: Final = ("streamReader", "prepare", "getDefaultReadLimit")
_LOOK: Final = ("latestOffset", "reportLatestOffset")
# With no start in its hands, a source plans the last micro-batch again to learn where it ended.
_BEGIN_AGAIN_40: Final = ("streamReader", "partitions")

# Of 4.0.0. The trigger takes what is there as one micro-batch.
SPARK_40: Final = CallOrder(
    ("streamReader", "latestOffset", "initialOffset", *_READ_AND_WRITE, "commit"),
    (*_BEGIN_AGAIN_40, "latestOffset", "commit offsets", *_READ_AND_WRITE, "abort"),
    (*_BEGIN_AGAIN_40, *_READ_AND_WRITE, "commit"),
)
# Of 4.3. The new query has two micro-batches.
SPARK_42: Final = CallOrder(
    (
        *(*_BEGIN, "initialOffset", *_LOOK, "initialOffset", *_READ_AND_WRITE, "commit"),
        *(*_LOOK, "commit offsets", "partitions", *_WRITE, "commit", *_LOOK),
    ),
    (*_BEGIN, *_LOOK, "commit offsets", *_READ_AND_WRITE, "abort"),
    (*_BEGIN, *_READ_AND_WRITE, "commit", *_LOOK),
)


def recorded(spark: SparkSession, folder: Path, end: int, **options: str) -> tuple[str, ...]:
    """The calls of one run of real Spark; runs with the same folder are one query."""
    calls = folder / f"calls-{end}-{len(options)}"
    given = {"calls": str(calls), "end": str(end), **options}
    rows = spark.readStream.format("recording").options(**given).load()
    query = (
        rows.writeStream.format("recording")
        .options(**given, checkpointLocation=str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except StreamingQueryException:
        assert options
    return tuple(calls.read_text().split("\n")[:-1])


def recorded_order(spark: SparkSession, folder: Path) -> CallOrder:
    """The calls of real Spark, whose source `recording` is registered."""
    return CallOrder(
        recorded(spark, folder, 6),
        recorded(spark, folder, 9, fails="true"),
        recorded(spark, folder, 9),
    )
