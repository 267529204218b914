"""The tables of `make demo-tables`: where they are, what they have, and what they have to have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.addressed import lengths
from tests.change_data.demo import compare
from tests.change_data.lake import ICEBERG
from tests.change_data.shop_database import Database
from tests.change_data.shop_writers import (
    NEW_FIELDS,
    RECORD_TYPES,
    TOPICS,
    Row,
    Shop,
    Written,
)

_PLACE: Final = ("_kafka_partition", "_kafka_offset")
_FIELDS: Final = ("id", "name", "note", "size")
_LIVE: Final = "_tombstone IS NOT TRUE"


class Layout(NamedTuple):
    """Where the example has the tables of a provider, in its folder.

    Attributes:
        commits: A pattern for files; each commit adds one. It has `{table}`.
        name: A table's name, with `{table}` and `{folder}`.
    """

    commits: str
    name: str


LAYOUTS: Final[Mapping[str, Layout]] = {
    "delta": Layout("tables/{table}/_delta_log/*.json", "delta.`{folder}/tables/{table}`"),
    "iceberg": Layout("tables/shop/{table}/metadata/*.metadata.json", ICEBERG + ".shop.{table}"),
}


class Tables:
    """The tables of a provider in the example's folder."""

    def __init__(self, provider: str, folder: Path) -> None:
        self._layout = LAYOUTS[provider]
        self._folder = folder

    def commits(self, topic: str = "*") -> int:
        """How many commits a topic's table has; without a topic, all tables."""
        pattern = self._layout.commits.format(table=_table(topic))
        return len([*self._folder.glob(pattern)])

    def micro_batches(self) -> int:
        """How many micro-batches are done: all tables have them."""
        return len([*self._folder.glob("checkpoint/commits/[0-9]*")])

    def read(self, spark: SparkSession, topic: str) -> DataFrame:
        """A topic's table as it is now."""
        name = self._layout.name.format(table=_table(topic), folder=self._folder)
        spark.sql(f"REFRESH TABLE {name}")
        return spark.table(name)


def _table(topic: str) -> str:
    return topic.replace(".", "_")


class Comparison(NamedTuple):
    """A topic beside its table."""

    topic: str
    records: int
    rows: int
    different: int


def compared(spark: SparkSession, tables: Tables, shop: Shop, base: Database) -> list[Comparison]:
    """Each topic beside its table; a topic of the database has the rows that this has."""
    records = lengths(shop.servers)
    written = [
        _with_written(spark, tables, topic, each) for topic, each in sorted(shop.written.items())
    ]
    changed = [
        _with_database(spark, tables, topic, base, records[topic])
        for topic, kind in TOPICS.items()
        if kind == "changes"
    ]
    return [*written, *changed]


def _with_written(spark: SparkSession, tables: Tables, topic: str, written: Written) -> Comparison:
    rows = _rows(tables.read(spark, topic), topic) if tables.commits(topic) else []
    return Comparison(topic, len(written), len(rows), differences(rows, expected(topic, written)))


def _with_database(
    spark: SparkSession, tables: Tables, topic: str, base: Database, records: int
) -> Comparison:
    if not tables.commits(topic):
        return Comparison(topic, records, 0, records)
    live = _live(tables.read(spark, topic))
    found = compare(base.connection, topic.rpartition(".")[2], live)
    return Comparison(topic, records, found.rows, found.missing + found.extra + found.different)


def _live(frame: DataFrame) -> DataFrame:
    """The rows that are not deleted. The first MERGE adds the column that they are known by."""
    return frame.where(_LIVE) if "_tombstone" in frame.columns else frame.limit(0)


def differences(rows: Iterable[Any], wanted: set[Any]) -> int:
    """How many rows a table lacks, has twice, or has and should not have."""
    listed = [*rows]
    return len({*listed} ^ wanted) + len(listed) - len({*listed})


def expected(topic: str, written: Written) -> set[Any]:
    """The rows that a topic's table has to have."""
    if TOPICS[topic] != "cache":
        return {(*place, *_values(topic, row)) for place, (_, row) in written.items() if row}
    newest = {key: row for _, (key, row) in sorted(written.items())}
    return {_values(topic, row) for row in newest.values() if row}


def _values(topic: str, row: Row) -> tuple[Any, ...]:
    if TOPICS[topic] == "types":
        return (f"shop.{row['name']}", row["id"])
    return tuple(row.get(each) for each in _FIELDS)


def _rows(frame: DataFrame, topic: str) -> list[Any]:
    """The rows that a topic's table has, as `expected` gives them."""
    # It grows when the query has caught up.
    frame = frame.withColumns(
        {each: F.lit(None) for each, _ in NEW_FIELDS if each not in frame.columns}
    )
    if TOPICS[topic] == "types":
        ids = ", ".join(f"{each}.id" for each in RECORD_TYPES)
        frame = frame.selectExpr(*_PLACE, "_type", f"coalesce({ids}) AS id")
    elif TOPICS[topic] == "cache":
        frame = _live(frame).select(*_FIELDS)
    else:
        frame = frame.select(*_PLACE, *_FIELDS)
    return [tuple(row) for row in frame.collect()]
