"""Queries on Sail, one after the other, for the torture test; in the venv that has Sail.

A line of the input is the JSON of a request: `options`, `schema`, `filters` and `columns` of a
read, and `file` for its rows as an Arrow stream, or `to` for the options of a write. A line of the
output has the error, or null.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.sail_session import run_sail_session

_HEADER = "torture-at"


def run(spark: SparkSession, request: Mapping[str, Any]) -> None:
    reader = spark.read.format("pykafka").options(**request["options"]).schema(request["schema"])
    rows = reader.load()
    for each in request["filters"]:
        rows = rows.where(each)
    rows = rows.select(*request["columns"])
    if "to" in request:
        at = F.concat_ws(
            "/", "topic", F.col("partition").cast("string"), F.col("offset").cast("string")
        )
        header = F.struct(F.lit(_HEADER).alias("key"), at.cast("binary").alias("value"))
        headers = F.when(F.col("headers").isNull(), F.array(header)).otherwise(
            F.concat("headers", F.array(header))
        )
        rows = rows.select("key", "value", "timestamp", headers.alias("headers"))
        rows.write.format("pykafka").options(**request["to"]).mode("append").save()
        return
    table = rows.toArrow()
    with pa.OSFile(request["file"], "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


def main() -> None:
    with contextmanager(run_sail_session)() as spark:
        for line in sys.stdin:
            error = None
            try:
                run(spark, json.loads(line))
            except Exception:  # noqa: BLE001 - the test judges it
                error = traceback.format_exc()
            print(json.dumps({"error": error}), flush=True)


if __name__ == "__main__":
    main()
