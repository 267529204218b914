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
from pyspark.sql import Column, SparkSession
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
        rows = rows.withColumn("headers", headers_with_place())
        rows = rows.select("key", "value", "timestamp", "headers")
        # Sail 0.7.2 fails if several tasks write: "Invalid partition id 1 in write result".
        one = rows.coalesce(1)
        one.write.format("pykafka").options(**request["to"]).mode("append").save()
        return
    table = rows.toArrow()
    with pa.OSFile(request["file"], "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


def headers_with_place() -> Column:
    """The headers, and one that tells where a row came from.

    Sail joins arrays only if the parts of both may be null.
    """
    there = F.col("offset") >= 0
    numbers = (F.col(name).cast("string") for name in ("partition", "offset"))
    place = F.concat_ws("/", "topic", *numbers).cast("binary")
    parts = (F.when(there, F.lit(_HEADER)).alias("key"), F.when(there, place).alias("value"))
    header = F.array(F.when(there, F.struct(*parts)))
    joined = F.concat("headers", header)
    return F.when(F.col("headers").isNull(), header).otherwise(joined)


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
