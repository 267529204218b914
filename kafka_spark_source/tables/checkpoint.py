"""What Spark keeps in the checkpoint of a query: its id, and the last micro-batch it planned."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.changes.target import first_line
from kafka_spark_source.planning.rate_limits import Offsets
from kafka_spark_source.tables.files import exists, listed
from kafka_spark_source.tools.positions.checkpoints import micro_batch_in

NO_PATH: Final = "PATH_NOT_FOUND"


class PlannedBefore(NamedTuple):
    """The last micro-batch that was planned before a run, and when, in ms since 1970.

    Its number is -1 for a new checkpoint.
    """

    batch_id: int = -1
    at_ms: float | None = None


def query_id(spark: SparkSession, checkpoint: str) -> str:
    """The id of the streaming query, which Spark writes when it makes a checkpoint.

    Raises:
        KafkaConfigError: The checkpoint has none.
    """
    path = f"{checkpoint}/metadata"
    try:
        return str(json.loads("".join(read_lines(spark, path)))["id"])
    except (PySparkException, LookupError, TypeError, ValueError) as error:
        raise KafkaConfigError(
            f"{path} has no id of a streaming query ({first_line(error)}): use the "
            "checkpointLocation of this query"
        ) from error


def planned_before(spark: SparkSession, checkpoint: str) -> PlannedBefore:
    """The last micro-batch of the checkpoint: it runs again if it had not ended."""
    offsets = f"{checkpoint}/offsets"
    if not exists(spark, offsets):
        return PlannedBefore()
    reader = spark.read.option("__globPaths__", "false")
    named = F.col("_metadata.file_name").alias("name")
    written = F.col("_metadata.file_modification_time").alias("at")
    files = reader.text(offsets).select(named, written).distinct().collect()
    planned = [
        PlannedBefore(int(row["name"]), row["at"].timestamp() * 1000)
        for row in files
        if row["name"].isdigit()
    ]
    return max(planned, key=lambda each: each.batch_id, default=PlannedBefore())


def finished(spark: SparkSession, checkpoint: str) -> tuple[int, Offsets]:
    """The last micro-batch that has ended, and its ends; -1 if no one has.

    Raises:
        KafkaConfigError: The checkpoint is damaged.
    """
    commits = f"{checkpoint}/commits"
    names = listed(spark, commits)[0] if exists(spark, commits) else []
    number = max((int(each) for each in names if each.isdigit()), default=-1)
    if number < 0:
        return -1, {}
    lines = read_lines(spark, f"{checkpoint}/offsets/{number}")
    ends = micro_batch_in(checkpoint, number, lines, is_committed=True).ends
    return number, next(iter(ends.values()), {})


def read_lines(spark: SparkSession, path: str) -> list[str]:
    """The lines of a file or of a folder's files.

    Raises:
        PySparkException: They cannot be read.
    """
    # The name of a checkpoint may have characters of patterns, as `a[1]`.
    rows = spark.read.option("__globPaths__", "false").text(path).collect()
    return [row[0] for row in rows]
