"""Copies a topic three times, each with a query of its own, until it is killed.

    python -m tests.jobs.copies pykafka folder \
        '{"state": "folder", "servers": "...", "source": "...", "again": "...", "once": "..."}'

The copies are at least once to the topic `again`, exactly once to the topic `once`, and JSON files
in the state folder, where the checkpoints are. On two executors. A query that
fails is printed after FAILED, and started again. Prints STARTED when all have been started once.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.jobs.stream_to_files import STARTED
from tests.spark_session import SPARK_ERRORS, run_session
from tests.stream_folder import RESTARTED, StreamFolder

FAILED = "failed: "
CLIENT_ID = "copies"
TRANSACTION_TIMEOUT_MS = 60_000
# Each process of a query finds its half-open connections after so long, one after the other.
REQUEST_TIMEOUT_MS = 3_000
TRIGGER = "1 second"
SLOW_MS = 5_000
_TRY_AGAIN_SECONDS = 0.5

Start = Callable[[], StreamingQuery]


def main(connector: str, _folder: str, options: str) -> None:
    config = RESTARTED | {
        "spark_master": "local-cluster[2,1,1024]",
        "spark_executor_memory": "512m",
        # The master does not give up after some lost executors.
        "spark_deploy_maxExecutorRetries": "-1",
        "spark_sql_streaming_minBatchesToRetain": "20",
    }
    for spark in run_session("copies", **config):
        keep_running(copies(spark, connector, **json.loads(options)))


def copies(
    spark: SparkSession, connector: str, *, state: str, servers: str, source: str, **topics: str
) -> dict[str, Start]:
    """How to start each query."""
    brokers = {
        "kafka.bootstrap.servers": servers,
        "kafka.client.id": CLIENT_ID,
        "kafka.request.timeout.ms": str(REQUEST_TIMEOUT_MS),
    }

    # A task for each partition, so that both executors have some.
    apart = {"coalescePartitions": "false"}

    def read(**more: str) -> DataFrame:
        reader = spark.readStream.format(connector).options(**brokers, subscribe=source, **more)
        return reader.options(
            **{"startingOffsets": "earliest", "kafka.isolation.level": "read_committed"}
        ).load()

    def to_topic(name: str, records: DataFrame, **options: str) -> StreamingQuery:
        writer = records.select("key", "value", "partition").writeStream.format(connector)
        writer = writer.options(**brokers, topic=topics[name], **options)
        writer = writer.trigger(processingTime=TRIGGER)
        return writer.option("checkpointLocation", f"{state}/{name}").start()

    exactly_once = {
        "deliveryGuarantee": "exactly_once",
        "transactionalIdPrefix": topics["once"],
        "kafka.transaction.timeout.ms": str(TRANSACTION_TIMEOUT_MS),
    }
    return {
        "again": lambda: to_topic("again", read()),
        "once": lambda: to_topic("once", read(**apart), **exactly_once),
        "files": lambda: StreamFolder(Path(state)).start(read(), TRIGGER),
    }


def keep_running(starts: dict[str, Start]) -> None:
    """Starts the queries, and again each one that ended."""
    running: dict[str, StreamingQuery] = {}
    shown: dict[str, int] = {}
    has_started = False
    while True:
        for name, start in starts.items():
            if name in running and running[name].isActive:
                shown[name] = show_slow(name, running[name], shown.get(name, -1))
                continue
            if name in running:
                report(name, running.pop(name).exception())
            try:
                running[name] = start()
            except SPARK_ERRORS as error:
                report(name, error)
        if len(running) == len(starts) and not has_started:
            has_started = True
            print(STARTED, flush=True)
        time.sleep(_TRY_AGAIN_SECONDS)


def show_slow(name: str, query: StreamingQuery, shown: int) -> int:
    """Prints what took the time in a slow micro-batch, and returns its number."""
    progress = query.lastProgress
    if progress is None or progress.batchId == shown:
        return shown
    if progress.durationMs.get("triggerExecution", 0) > SLOW_MS:
        print(f"slow: {name} {progress.batchId}: {dict(progress.durationMs)}", flush=True)
    return progress.batchId


def report(name: str, error: Exception | None) -> None:
    """Prints a line."""
    print(f"{FAILED}{name}: {' '.join(str(error).split())}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
