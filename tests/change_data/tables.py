"""Tables of Delta and of Iceberg by name and by path, and micro-batches of changes for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from pyspark.sql import DataFrame, Row, SparkSession

from kafka_spark_source.changes import apply_changes
from tests.change_data.lake import ICEBERG

CHANGES: Final = (
    "id bigint, name string, size int, op string, topic string, partition int, offset bigint, "
    "topicId string, ts_ms bigint, _unavailable array<string>"
)
_numbers: Final = itertools.count()


def change(op: str, id_: int | None, name: str | None, offset: int, **more: Any) -> Row:
    """A change of a row, as `envelope=debezium` gives it."""
    usual = {
        **{"id": id_, "name": name, "size": None, "op": op, "topic": "t", "partition": 0},
        **{"offset": offset, "topicId": "A", "ts_ms": offset * 1_000, "_unavailable": None},
    }
    return Row(**(usual | more))


class Lake(NamedTuple):
    """A kind of target: a format, and how tables are named.

    Attributes:
        by_path: Whether a target is a path.
    """

    format: str
    by_path: bool

    def __str__(self) -> str:
        return f"{self.format} by {'path' if self.by_path else 'name'}"


class Target:
    """A new table, and the changes that are applied to it."""

    def __init__(self, spark: SparkSession, lake: Lake, warehouse: Path, columns: str) -> None:
        self._spark = spark
        name = f"changes_{next(_numbers)}"
        self.sql, self.name = _names(lake, warehouse, name)
        spark.sql(f"CREATE TABLE {self.sql} ({columns}) USING {lake.format}")

    def apply(self, rows: Iterable[Row], schema: str = CHANGES, **arguments: Any) -> None:
        """Apply a micro-batch."""
        self.function(**arguments)(self._spark.createDataFrame([*rows], schema), 0)

    def function(self, **arguments: Any) -> Callable[[DataFrame, int], None]:
        """The function for `foreachBatch`."""
        return apply_changes(self.name, **{"keys": ["id"], "evolve": True, **arguments})

    def rows(self, *columns: str, where: str = "_tombstone IS NOT TRUE") -> list[tuple[Any, ...]]:
        """Columns of the rows that are not deleted, in order."""
        self._spark.sql(f"REFRESH TABLE {self.sql}")
        frame = self._spark.table(self.sql).where(where).selectExpr(*columns or ("id", "name"))
        return sorted((tuple(row) for row in frame.collect()), key=str)

    def schema(self) -> dict[str, str]:
        """The names and types of the columns."""
        self._spark.sql(f"REFRESH TABLE {self.sql}")
        return dict(self._spark.table(self.sql).dtypes)


MakeTarget: TypeAlias = Callable[..., Target]
"""A fixture: makes a table with the columns of a text."""


def _names(lake: Lake, warehouse: Path, name: str) -> tuple[str, str]:
    """The name for SQL, and the target for `apply_changes`."""
    if lake.format == "iceberg":
        table = f"{ICEBERG}.shop.{name}"
        return table, str(warehouse / "shop" / name) if lake.by_path else table
    path = str(warehouse / name)
    return (f"delta.`{path}`", path) if lake.by_path else (name, name)
