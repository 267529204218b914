"""`foreachBatch`: micro-batches by their number; one that is planned again must be the same."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tests.endurance.torture.expected import Answer
from tests.endurance.torture.queries import Query
from tests.endurance.torture.rows import Row
from tests.endurance.torture.ways.place import Place
from tests.endurance.torture.ways.spark_batch import load
from tests.endurance.torture.ways.streams import run_stream, writer_of
from tests.endurance.torture.ways.tables import rows_of
from tests.endurance.torture.written import Gave


def for_each_batch(place: Place, query: Query) -> Gave:
    """Runs a stream, and collects each micro-batch on the driver."""
    folder = place.new_folder()
    df = load(place.spark.readStream, query, place.source)
    batches: dict[int, set[Row]] = {}
    twice: list[list[Row]] = []

    def collect(batch: DataFrame, batch_id: int) -> None:
        rows = rows_of(batch.toArrow())
        again = batches.setdefault(batch_id, {*rows})
        if len(again) != len(rows) or again != {*rows}:
            twice.append(rows)

    def make() -> DataStreamWriter:
        return writer_of(df, f"{folder}/checkpoint").foreachBatch(collect)

    run_stream(place, make, query.how)
    # Another micro-batch under the same number is a difference, as its rows are there twice.
    return Gave(Answer([*([*each] for each in batches.values()), *twice], ordered=False))
