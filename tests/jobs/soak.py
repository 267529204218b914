"""Two streams and small batch jobs in one Spark session, until the file `stop` is in its folder.

    python -m tests.jobs.soak pykafka folder '{"servers": "localhost:9092", "interval": "72"}'

One stream copies a topic at least once, the other exactly once. The interval is the number of
seconds between batch jobs. Prints STARTED when both queries have started, the number of batch
jobs after each of them, and once more at the end, when all records are copied.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from tests.endurance.soak.topics import COPIED, JOB_ROWS, SOURCE, STREAMED, WRITTEN
from tests.jobs.stream_to_files import STARTED
from tests.spark_session import run_session

STOP: Final = "stop"
JOBS: Final = "jobs"
TRIGGER: Final = "1 second"
_LOOK_SECONDS: Final = 1
_LAST_MS: Final = 30_000
# By default Spark keeps the history of 1000 jobs, stages and executions, so its heap first grows.
_SPARK: Final = {
    "spark_ui_retainedJobs": "20",
    "spark_ui_retainedStages": "20",
    "spark_ui_retainedTasks": "200",
    "spark_sql_ui_retainedExecutions": "20",
    "spark_sql_streaming_numRecentProgressUpdates": "10",
    # A heap that is touched at the start: what grows in the RSS is native memory.
    "spark_driver_memory": "512m",
    "spark_driver_extraJavaOptions": (
        "-Xms512m -XX:+AlwaysPreTouch -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    ),
}


class Work(Protocol):
    """What one session does."""

    def start(self) -> list[StreamingQuery]:
        """Start the streams."""

    def run_job(self, job: int) -> None:
        """Run a batch job."""


def main(connector: str, folder: str, options: str) -> None:
    given = json.loads(options)
    run_until_stop(
        lambda spark: Soak(spark, connector, given["servers"], Path(folder)), folder, given
    )


def run_until_stop(
    work_in: Callable[[SparkSession], Work], folder: str, options: Mapping[str, str]
) -> None:
    """Run streams, and a batch job at each interval, until there is the file `stop`."""
    stop = Path(folder, STOP)
    for spark in run_session("soak", **_SPARK):
        work = work_in(spark)
        queries = work.start()
        print(STARTED, flush=True)
        due = time.monotonic()
        jobs = 0
        while not stop.exists():
            # Raises the error of a query that failed.
            if spark.streams.awaitAnyTermination(_LOOK_SECONDS):
                raise RuntimeError("a query ended by itself")
            if time.monotonic() >= due:
                work.run_job(jobs)
                jobs += 1
                _print_jobs(jobs)
                due += float(options["interval"])
        for query in queries:
            query.processAllAvailable()
            query.stop()
        _print_jobs(jobs)


def _print_jobs(count: int) -> None:
    print(json.dumps({JOBS: count}), flush=True)


class Soak:
    """The work of the soak test in one session."""

    def __init__(self, spark: SparkSession, connector: str, servers: str, folder: Path) -> None:
        self._spark = spark
        self._connector = connector
        self._servers = {"kafka.bootstrap.servers": servers}
        self._folder = folder

    def start(self) -> list[StreamingQuery]:
        """Copy the source topic at least once, and exactly once.

        The sink is a topic: the log of a file sink grows with each micro-batch.
        """
        once = {"deliveryGuarantee": "exactly_once", "transactionalIdPrefix": "soak"}
        return [
            self._copy(STREAMED, self._folder / "streamed", {}),
            self._copy(COPIED, self._folder / "copied", once),
        ]

    def _copy(self, topic: str, checkpoint: Path, options: dict[str, str]) -> StreamingQuery:
        reader = self._spark.readStream.format(self._connector).options(**self._servers)
        records = reader.options(subscribe=SOURCE, startingOffsets="earliest").load()
        writer = records.select("value", "partition").writeStream.format(self._connector)
        writer = writer.options(**self._servers, topic=topic, **options)
        writer = writer.option("checkpointLocation", str(checkpoint))
        return writer.trigger(processingTime=TRIGGER).start()

    def run_job(self, job: int) -> None:
        """Read the records of the last seconds, and write a few."""
        reader = self._spark.read.format(self._connector).options(**self._servers)
        since = str(int(time.time() * 1000) - _LAST_MS)
        records = reader.options(subscribe=SOURCE, startingTimestamp=since).load()
        check(records)
        row = self._spark.range(JOB_ROWS).select(
            F.concat(F.lit(f"job-{job}-"), "id").alias("value")
        )
        writer = row.write.format(self._connector).options(**self._servers, topic=WRITTEN)
        writer.mode("append").save()


def check(records: DataFrame) -> None:
    """Fail unless each partition has all records between its first and its last one."""
    found = records.groupBy("partition").agg(F.count("*"), F.min("offset"), F.max("offset"))
    rows = found.collect()
    for partition, count, first, last in rows:
        if count != last - first + 1:
            raise RuntimeError(f"{count} records of partition {partition} from {first} to {last}")
    if not rows:
        raise RuntimeError("a batch job found no records of the last seconds")


if __name__ == "__main__":
    main(*sys.argv[1:])
