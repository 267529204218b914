"""Runs statements of SQL on a server of Spark Connect, and prints the rows of the last one as JSON.

connect_rows.py sc://localhost:15002 "CREATE SCHEMA lake.shop" "SHOW SCHEMAS IN lake"
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession


def main(url: str, *statements: str) -> None:
    spark = SparkSession.builder.remote(url).getOrCreate()
    rows = [spark.sql(each).collect() for each in statements][-1]
    sys.stdout.write(json.dumps([row.asDict(recursive=True) for row in rows], default=str) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
