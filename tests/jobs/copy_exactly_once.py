"""Copies a topic exactly once until it is killed; restarts the query if it fails.

    python -m tests.jobs.copy_exactly_once pykafka folder \
        '{"servers": "...", "source": "topic", "copy": "topic", "limit": "100"}'

The folder contains the checkpoint. Prints STARTED when the query has started for the first
time; what prevents that ends the job.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.jobs.pausing_sink import PausingSource
from tests.jobs.stream_to_files import STARTED
from tests.spark_session import SPARK_ERRORS, run_session
from tests.stream_folder import RESTARTED

# Longer than a micro-batch on a slow machine; tests wait for it at the end.
TRANSACTION_TIMEOUT_MS = 45_000


def main(connector: str, folder: str, options: str) -> None:
    for spark in run_session("copy", spark_master="local[2,4]", **RESTARTED):
        spark.dataSource.register(PausingSource)
        start_query = partial(start, spark, connector, Path(folder), **json.loads(options))
        query = start_query()
        print(STARTED, flush=True)
        while True:
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                print(error, flush=True)
            try:
                query = start_query()
            except SPARK_ERRORS as error:
                # A start needs Python processes, too, which tests kill: the next one may succeed.
                print(error, flush=True)


def start(
    spark: SparkSession,
    connector: str,
    folder: Path,
    *,
    servers: str,
    source: str,
    copy: str,
    limit: str,
) -> StreamingQuery:
    brokers = {"kafka.bootstrap.servers": servers}
    reader = spark.readStream.format(connector).options(**brokers, subscribe=source)
    # Several tasks, each with a transaction of its own.
    reader = reader.options(coalescePartitions="false")
    reader = reader.options(startingOffsets="earliest", maxOffsetsPerTrigger=limit)
    records = reader.load().select("key", "value", "partition")
    writer = records.writeStream.format(PausingSource.name()).options(
        **brokers,
        **{
            "topic": copy,
            "deliveryGuarantee": "exactly_once",
            "transactionalIdPrefix": copy,
            "kafka.transaction.timeout.ms": str(TRANSACTION_TIMEOUT_MS),
        },
    )
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
