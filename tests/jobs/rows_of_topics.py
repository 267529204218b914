"""The rows that a read makes of records, on any kind of Spark master: in a batch and a stream.

    python -m tests.jobs.rows_of_topics remote 'local[2]' localhost:9092 folder '{"text": "t", ...}'

The last argument names the topic of each of QUERIES; dead letters go to the topic with `-letters`
after its name. Prints the rows of each, of its batch and of its stream.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

_SOON_SECONDS: Final = 120
_BYTES: Final = "hex(cast({0} as binary)) as {0}"


class Query(NamedTuple):
    """A read.

    Attributes:
        options: Beside the topic and the brokers.
        columns: What is selected, all of which JSON can have.
        schema: Of the user; None for that of the source.
    """

    options: Mapping[str, str]
    columns: Sequence[str]
    schema: str | None = None


QUERIES: Final = {
    "text": Query(
        {"includeHeaders": "true"},
        ["offset", _BYTES.format("key"), _BYTES.format("value"), "headers['a'] as a"],
        "offset bigint, key string, value string, headers map<string, string>",
    ),
    "upsert": Query(
        {"envelope": "upsert"},
        ["offset", _BYTES.format("key"), _BYTES.format("value"), "op"],
    ),
    "debezium": Query(
        {
            "envelope": "debezium",
            "debezium.before": "true",
            "value.format": "json",
            "value.schema": "id bigint, name string, price decimal(10, 2), at timestamp_ntz",
            "key.schema": "id bigint",
        },
        [
            *("offset", "id", "name", "cast(price as string) as price", "op"),
            *("_unavailable as lost", "before.name as old"),
        ],
    ),
    "dead letters": Query(
        {"value.format": "json", "value.schema": "id bigint"}, ["offset", "value.id as id"]
    ),
}


def rows_of(df: DataFrame) -> list[list[Any]]:
    return sorted([*row] for row in df.collect())


def streamed(spark: SparkSession, rows: DataFrame, folder: Path) -> list[list[Any]]:
    """The rows of a stream, by way of files."""
    writer = rows.writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.option("path", str(folder / "rows")).start()
    if not query.awaitTermination(_SOON_SECONDS):
        raise AssertionError(f"the stream did not end: {query.status}")
    return rows_of(spark.read.parquet(str(folder / "rows")))


def main(kind: str, url: str, servers: str, folder: str, topics: str) -> None:
    spark = getattr(SparkSession.builder, kind)(url).getOrCreate()
    found: dict[str, list[Any]] = {}
    for name, topic in json.loads(topics).items():
        query = QUERIES[name]
        options = {"kafka.bootstrap.servers": servers, "subscribe": topic, **query.options}
        if name == "dead letters":
            options["deadLetterTopic"] = f"{topic}-letters"
        batch = spark.read.format("pykafka").options(**options)
        stream = spark.readStream.format("pykafka").options(**options, startingOffsets="earliest")
        if query.schema is not None:
            batch, stream = batch.schema(query.schema), stream.schema(query.schema)
        rows = rows_of(batch.load().selectExpr(*query.columns))
        follow = stream.load().selectExpr(*query.columns)
        found[name] = [rows, streamed(spark, follow, Path(folder) / name.replace(" ", "-"))]
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
