"""The table of a topic in its catalog: made, read, and grown. Statements of SQL only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from kafka_spark_source.changes.sql import text
from kafka_spark_source.changes.target import (
    MOMENTS,
    first_line,
    has_moments,
    padded_columns,
    provider_of,
)
from kafka_spark_source.tables.ddl import columns_text, path_text, type_text
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.growth import At, Growth, growth
from kafka_spark_source.tables.leftovers import create_again
from kafka_spark_source.tables.members import Members, as_property, merged_members

_MAPPED_BY_NAME: Final = {"delta.columnMapping.mode": "name"}
# Characters in names that Delta takes with column mapping only.
_ODD: Final = re.compile(r"[ ,;{}()\n\t=]")
_WIDENING: Final = "'delta.enableTypeWidening' = 'true'"
_TOPIC: Final = "pykafka.topic"
"""The property of a table with the topic that it is filled from."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How tables are made; only for tables that do not exist.

    Attributes:
        provider: `delta` or `iceberg`.
        partition_by: Expressions for PARTITIONED BY.
        cluster_by: Columns for CLUSTER BY.
        properties: Properties of the tables.
    """

    provider: str
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


class Prepared(NamedTuple):
    """A table that takes the rows.

    Attributes:
        columns: Its columns.
        is_new: Whether it was made just now, so that it has no rows.
    """

    columns: T.StructType
    is_new: bool


@dataclass(frozen=True, slots=True)
class Target:
    """A table by its name, as SQL spells it; `topic` is for errors."""

    spark: SparkSession
    name: str
    topic: str
    layout: Layout

    def columns(self) -> T.StructType | None:
        """The columns that the table has now; None if there is no table.

        Raises:
            TableError: It is not a table of the provider, has columns of the type CHAR, or its
                catalog refuses.
        """
        try:
            if not self.spark.catalog.tableExists(self.name):
                return None
            self.spark.sql(f"REFRESH TABLE {self.name}")
            described = self.spark.sql(f"DESCRIBE TABLE EXTENDED {self.name}").collect()
            columns = self.spark.table(self.name).schema
        except PySparkException as error:
            raise self._error("cannot be read", error) from error
        provider = provider_of(described)
        if provider != self.layout.provider:
            raise TableError(
                f"the table {self.name} of topic {self.topic} is {provider or 'of no known format'}"
                f", not {self.layout.provider}: name its format as `provider`, or another table"
            )
        if padded := padded_columns(columns):
            raise TableError(
                f"the table {self.name} of topic {self.topic} has columns of the type CHAR: "
                f"{', '.join(padded)}. It pads texts with blanks, so that they would differ from "
                "the records': make them string or varchar"
            )
        return columns

    def plan(self, rows: T.StructType, members: Members) -> list[str]:
        """The statements after which the table takes the rows; none if it does already.

        Args:
            rows: The columns of the rows.
            members: Path of a struct in the records -> the types of its fields.

        Raises:
            TableError: It cannot hold them, or as from `columns`.
        """
        present = self.columns()
        if present is None:
            self._check(growth(T.StructType([]), rows, self.layout.provider))
            return [self._create(rows, members)]
        needed = self._check(growth(present, rows, self.layout.provider))
        return [*self._claim(members), *self._grow(needed)]

    def prepare(self, rows: T.StructType, members: Members) -> Prepared:
        """Make the table, or let it grow, for the rows.

        Raises:
            TableError: As from `plan`; or the catalog refuses a statement, which the text has.
        """
        present, is_new = self.columns(), False
        if present is None:
            self._check(growth(T.StructType([]), rows, self.layout.provider))
            is_new = self._execute(self._create(rows, members))
            present = self._present()
        # A new one, too: it may have been there, though its catalog did not know it.
        needed = self._check(growth(present, rows, self.layout.provider))
        statements = [*self._claim(members), *self._grow(needed)]
        for statement in statements:
            self._execute(statement)
        return Prepared(self._present() if statements else present, is_new)

    def _present(self) -> T.StructType:
        """The columns of a table that must exist."""
        present = self.columns()
        if present is None:
            raise TableError(
                f"the table {self.name} of topic {self.topic} was dropped while it was made: is "
                "there another query with this table?"
            )
        return present

    def _execute(self, statement: str) -> bool:
        """Execute a statement; returns whether it met nothing that a killed driver has left."""
        try:
            try:
                self.spark.sql(statement)
            except PySparkException as error:
                mark = _TOPIC, self.topic
                again = create_again(self.spark, statement, self.name, mark, error)
                if again is None:
                    raise
                self.spark.sql(again)
                return False
        except Exception as error:  # of Delta's features it is an error of Py4J
            raise self._error(f"does not take the statement `{statement}`", error) from error
        return True

    def _claim(self, members: Members) -> Iterator[str]:
        """The statements that note what the table is filled from; none if it is noted already.

        Without it, a topic whose table has the name of another one's, or two queries with other
        `table`s, would write into one table.

        Raises:
            TableError: The table is another topic's, or its columns have values of other types.
        """
        rows = self.spark.sql(f"SHOW TBLPROPERTIES {self.name}").collect()
        noted = {row["key"]: row["value"] for row in rows}
        owner = noted.get(_TOPIC, self.topic)
        missing = {_TOPIC: self.topic, **self._members(noted, members)}.items() - noted.items()
        if owner == self.topic:
            for key, value in sorted(missing):
                yield f"ALTER TABLE {self.name} SET TBLPROPERTIES ({text(key)} = {text(value)})"
        else:
            raise TableError(
                f"the table {self.name} is filled from topic {owner}, not from {self.topic}: name "
                f"another table for {self.topic}"
            )

    def _members(self, noted: Mapping[str, str], members: Members) -> Mapping[str, str]:
        """The property of the table with the types of members, old ones and new ones.

        Raises:
            TableError: A member that the table has is another type now.
        """
        merged, changed = merged_members(noted, members)
        if changed:
            path, before, now = changed
            raise TableError(
                f"the newest schema of topic {self.topic} has the types of the union {path} in "
                f"another order: the table {self.name} has {', '.join(before)} as member0 and so "
                f"on, the schema {', '.join(now)}. Register a version that adds types at the end, "
                "or fill a new table"
            )
        return as_property(merged)

    def _check(self, needed: Growth) -> Growth:
        if needed.refused:
            raise TableError(
                f"the table {self.name} cannot hold the records of topic {self.topic}: "
                f"{'; '.join(needed.refused)}. Fill a new table, or read the topic with other types"
            )
        return needed

    def _create(self, rows: T.StructType, members: Members) -> str:
        layout = self.layout
        properties = {**layout.properties, _TOPIC: self.topic, **as_property(members)}
        if layout.provider == "delta" and _has_odd_names(rows):
            properties = _MAPPED_BY_NAME | properties
        clauses = [f"CREATE TABLE {self.name} ({columns_text(rows)})"]
        clauses.append(f"USING {layout.provider}")
        if layout.partition_by:
            clauses.append(f"PARTITIONED BY ({', '.join(layout.partition_by)})")
        if layout.cluster_by:
            clauses.append(f"CLUSTER BY ({', '.join(layout.cluster_by)})")
        if properties:
            pairs = (f"{text(key)} = {text(value)}" for key, value in sorted(properties.items()))
            clauses.append(f"TBLPROPERTIES ({', '.join(pairs)})")
        return " ".join(clauses)

    def _grow(self, needed: Growth) -> Iterator[str]:
        is_delta = self.layout.provider == "delta"
        if is_delta and any(has_moments(each.type) for each in (*needed.added, *needed.widened)):
            yield f"ALTER TABLE {self.name} SET TBLPROPERTIES ({MOMENTS})"
        if needed.added:
            yield f"ALTER TABLE {self.name} ADD COLUMNS ({_listed(needed.added)})"
        if is_delta and needed.widened:
            yield f"ALTER TABLE {self.name} SET TBLPROPERTIES ({_WIDENING})"
        for each in needed.widened:
            change = f"{path_text(each.path)} TYPE {type_text(each.type)}"
            yield f"ALTER TABLE {self.name} ALTER COLUMN {change}"

    def _error(self, what: str, error: Exception) -> TableError:
        return TableError(
            f"the table {self.name} of topic {self.topic} {what}: {first_line(error)}"
        )


def _listed(added: Sequence[At]) -> str:
    return ", ".join(f"{path_text(each.path)} {type_text(each.type)}" for each in added)


def _has_odd_names(type_: T.DataType) -> bool:
    if isinstance(type_, T.StructType):
        return any(_ODD.search(each.name) or _has_odd_names(each.dataType) for each in type_)
    if isinstance(type_, T.ArrayType):
        return _has_odd_names(type_.elementType)
    if isinstance(type_, T.MapType):
        return _has_odd_names(type_.keyType) or _has_odd_names(type_.valueType)
    return False
