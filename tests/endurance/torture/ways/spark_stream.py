"""`spark.readStream` into files and into memory."""

from __future__ import annotations

import uuid

from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tests.endurance.torture.expected import Answer
from tests.endurance.torture.queries import Query
from tests.endurance.torture.ways.place import Place
from tests.endurance.torture.ways.spark_batch import load
from tests.endurance.torture.ways.streams import run_stream, writer_of
from tests.endurance.torture.ways.tables import rows_of
from tests.endurance.torture.written import Gave


def spark_stream(place: Place, query: Query) -> Gave:
    """Runs a stream into the sink that the query names."""
    return _SINKS[query.how["sink"]](place, query)


def _into_files(place: Place, query: Query) -> Gave:
    """Files have each row once, also if the query was started again."""
    folder = place.new_folder()
    df = load(place.spark.readStream, query, place.source)

    def make() -> DataStreamWriter:
        writer = writer_of(df, f"{folder}/checkpoint").format("parquet")
        return writer.option("path", f"{folder}/rows")

    run_stream(place, make, query.how)
    files = place.spark.read.schema(df.schema).parquet(f"{folder}/rows")
    return Gave(Answer([rows_of(files.toArrow())], ordered=False))


def _into_memory(place: Place, query: Query) -> Gave:
    """The sink in memory cannot continue, so a query that failed is not started again."""
    name = f"memory_{uuid.uuid4().hex}"
    df = load(place.spark.readStream, query, place.source)
    # The sink keeps strings of Java's, which lose bytes that are not UTF-8.
    texts = [name for name, each in query.types.items() if each == "string"]
    df = df.withColumns({name: F.col(name).cast("binary") for name in texts})
    run_stream(
        place,
        lambda: df.writeStream.format("memory").queryName(name),
        query.how,
        may_restart=False,
    )
    table = place.spark.table(name).toArrow()
    place.spark.catalog.dropTempView(name)
    return Gave(Answer([rows_of(table)], ordered=False))


_SINKS = {"parquet": _into_files, "memory": _into_memory}
