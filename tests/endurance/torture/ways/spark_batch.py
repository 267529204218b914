"""`spark.read`: the rows of each task in their order."""

from __future__ import annotations

from pyspark.sql import DataFrame, DataFrameReader
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamReader

from tests.endurance.torture.expected import Answer
from tests.endurance.torture.filters import sql_of
from tests.endurance.torture.queries import Query, read_options
from tests.endurance.torture.ways.place import Place
from tests.endurance.torture.ways.tables import groups_of
from tests.endurance.torture.written import Gave

_TYPES = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "long",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key: string, value: binary>>",
}
_TASK = "task"


def schema_of(query: Query) -> str:
    """The columns as a DDL."""
    types = _TYPES | dict(query.types)
    return ", ".join(f"{name} {types[name]}" for name in query.columns)


def load(
    reader: DataFrameReader | DataStreamReader, query: Query, servers: dict[str, str]
) -> DataFrame:
    """The rows of a query, before it runs."""
    reader = reader.format("pykafka").options(**servers, **read_options(query))
    if not query.select:
        reader = reader.schema(schema_of(query))
    df = reader.load()
    for each in query.filters:
        df = df.where(sql_of(each))
    return df.select(*query.columns)


def spark_batch(place: Place, query: Query) -> Gave:
    """Runs a batch."""
    df = load(place.spark.read, query, place.source)
    return Gave(Answer(groups_of(df.withColumn(_TASK, F.spark_partition_id()).toArrow(), _TASK)))
