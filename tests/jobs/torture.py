"""A run of torture in a process of its own: `python -m tests.jobs.torture JSON`.

A run starts and stops a Spark session, of which a process has one. The JSON has the arguments of
`torture.run.run`, and `loses`: whether reads in threads lose the last record of each range. The
last line that is printed is JSON with the statuses of the queries and the problems.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafka_protocol.arrow_io.topic import read_topic
from tests.endurance.torture.run import run
from tests.endurance.torture.ways import threads


def _without_the_last(*args: Any, **options: Any) -> pa.RecordBatchReader:
    table = read_topic(*args, **options).read_all()
    return table.slice(0, max(0, table.num_rows - 1)).to_reader()


def main(folder: str, given: str) -> None:
    options = json.loads(given)
    if options.pop("loses"):
        threads.read_topic = _without_the_last  # type: ignore[attr-defined]
    result = run(Path(folder), show=lambda line: print(line, flush=True), **options)
    statuses = [each.status.name for each in result.results]
    print(json.dumps({"statuses": statuses, "problems": result.problems}))


if __name__ == "__main__":
    main(*sys.argv[1:])
