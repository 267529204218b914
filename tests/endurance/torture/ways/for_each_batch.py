"""`foreachBatch`: micro-batches by their number; one that is planned again must be the same.

With `envelope=upsert` they are applied to a table, as by a MERGE, which has the newest rows then.
"""

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
    batches, twice = _micro_batches(place, query)
    # Another micro-batch under the same number is a difference, as its rows are there twice.
    return Gave(Answer([*batches, *twice], ordered=False))


def table_of_stream(place: Place, query: Query) -> Gave:
    """Runs a stream of the newest rows, and applies its micro-batches one after the other."""
    batches, twice = _micro_batches(place, query)
    table: dict[tuple[str, int, bytes | None], Row] = {}
    for rows in batches:
        of_batch = {(row.topic, row.partition, row.key): row for row in rows}
        if len(of_batch) < len(rows):
            twice.append(rows)  # a key that has two rows
        for key, row in of_batch.items():
            if key in table and table[key].offset >= row.offset:
                twice.append([row])
            table[key] = row
    left = [row for row in table.values() if row.value is not None]
    return Gave(Answer([left, *twice], ordered=False))


def _micro_batches(place: Place, query: Query) -> tuple[list[list[Row]], list[list[Row]]]:
    """The rows of each micro-batch, and those of micro-batches that came again with others."""
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
    return [[*batches[number]] for number in sorted(batches)], twice
