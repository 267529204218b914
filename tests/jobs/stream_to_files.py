"""A stream from Kafka to files that runs until it is killed.

    python -m tests.jobs.stream_to_files pykafka folder '{"subscribe": "topic", ...}'

The folder contains the checkpoint and the files. Prints STARTED when the query has started.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.spark_session import run_session
from tests.stream_folder import RESTARTED, StreamFolder

STARTED = "started"


def main(connector: str, folder: str, options: str) -> None:
    # Keep the whole log: tests read the first offsets from it.
    config = RESTARTED | {"spark.sql.streaming.minBatchesToRetain": "100000"}
    for spark in run_session("stream to files", **config):
        stream = spark.readStream.format(connector).options(**json.loads(options)).load()
        query = StreamFolder(Path(folder)).start(stream)
        print(STARTED, flush=True)
        query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
